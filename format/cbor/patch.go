package cbor

import (
	"encoding/binary"
	"math"

	"example.com/ferry/field"
	"example.com/ferry/format/internal/convert"
	"example.com/ferry/format/internal/utf8check"
	"example.com/ferry/internal/cborhead"
)

// Patch appends data to dst, with v in place of the value at p, and returns the extended dst. A CBOR container counts
// items, not bytes, so no other byte changes. The tags of the old value stay. An integer, text or byte string gets the
// shortest head and a definite length. A float is always written in nine bytes, head included. Bytes after the value
// are copied without a check. On an error dst is returned unchanged: field.ErrNotFound, *format.TypeError if v cannot
// be converted to the old value's kind, or an error of Lookup.
func (f Format) Patch(dst, data []byte, p field.Path, v field.Value) ([]byte, error) {
	at, end, err := f.preparePatch(data, p, &v)
	if err != nil {
		return dst, err
	}
	dst = append(dst, data[:at]...)
	dst = AppendScalar(dst, &v)
	return append(dst, data[end:]...), nil
}

// PatchInPlace overwrites the value at p in data itself if the value that Patch would write has exactly as many bytes.
// Otherwise it returns false and leaves data unchanged. The time does not depend on the bytes after the value.
func (f Format) PatchInPlace(data []byte, p field.Path, v field.Value) (bool, error) {
	s, err := f.Lookup(data, p)
	if err != nil {
		return false, err
	}
	if v.Kind == field.Text && hasSameHead(data, s, len(v.Bytes)) && utf8check.ASCII(v.Bytes) {
		copy(data[s.Off:s.End], v.Bytes)
		return true, nil
	}
	at, end, err := patchRange(data, s, &v)
	if err != nil || encodedSize(&v) != end-at {
		return false, err
	}
	AppendScalar(data[at:at:end], &v)
	return true, nil
}

// preparePatch returns the offsets of the value at p, without its tags. It converts v to the kind of this value.
func (f Format) preparePatch(data []byte, p field.Path, v *field.Value) (at, end int, err error) {
	s, err := f.Lookup(data, p)
	if err != nil {
		return 0, 0, err
	}
	return patchRange(data, s, v)
}

// patchRange is preparePatch for the value with span s.
func patchRange(data []byte, s field.Span, v *field.Value) (at, end int, err error) {
	if err := convert.Replace("cbor", v, s.Kind); err != nil {
		return 0, 0, err
	}
	if at = s.Head; data[at]>>5 == cborhead.Tag {
		_, at, err = skipTags(data, at)
	}
	return at, s.End, err
}

// hasSameHead reports whether a text of n bytes would have the same head as the text at s. This check speeds up the
// most common edit in place, a new ID of the same length.
func hasSameHead(data []byte, s field.Span, n int) bool {
	b := data[s.Head]
	return b>>5 == cborhead.Text && b&31 != cborhead.Indefinite && s.End-s.Off == n && s.Off-s.Head == cborhead.Size(uint64(n))
}

// AppendScalar appends the encoding of v, which is no container, as Patch writes it.
func AppendScalar(dst []byte, v *field.Value) []byte {
	return append(appendUpToContent(dst, v), v.Bytes...)
}

// appendUpToContent appends the encoding of v without the content of a text or byte string.
func appendUpToContent(dst []byte, v *field.Value) []byte {
	switch v.Kind {
	case field.Bool:
		if v.Bool {
			return append(dst, cborhead.True)
		}
		return append(dst, cborhead.False)
	case field.Int, field.Text, field.Bytes:
		major, arg := headOfValue(v)
		return cborhead.Append(dst, major, arg)
	case field.Float:
		return binary.BigEndian.AppendUint64(append(dst, cborhead.Float64), math.Float64bits(v.Float))
	}
	return append(dst, cborhead.Null)
}

// encodedSize returns the number of bytes that AppendScalar writes.
func encodedSize(v *field.Value) int {
	switch v.Kind {
	case field.Int, field.Text, field.Bytes:
		_, arg := headOfValue(v)
		return cborhead.Size(arg) + len(v.Bytes)
	case field.Float:
		return 9
	}
	return 1
}

// headOfValue returns the head of the integer, text or byte string v.
func headOfValue(v *field.Value) (major byte, arg uint64) {
	switch {
	case v.Kind == field.Text:
		return cborhead.Text, uint64(len(v.Bytes))
	case v.Kind == field.Bytes:
		return cborhead.Bytes, uint64(len(v.Bytes))
	case v.Int < 0 && !v.Unsigned:
		return cborhead.Nint, ^uint64(v.Int) // a negative integer n is encoded as -1-n
	}
	return cborhead.Uint, uint64(v.Int)
}

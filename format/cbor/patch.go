package cbor

import (
	"encoding/binary"
	"math"

	"example.com/ferry/field"
	"example.com/ferry/format/internal/convert"
	"example.com/ferry/format/internal/utf8check"
	"example.com/ferry/internal/cborhead"
)

// Patch appends data to dst with the value at p replaced by v, and returns the extended dst. CBOR's containers count
// items, not bytes, so no other byte changes. The tags of the old value stay. An integer, text or byte string gets the
// shortest head and a definite length, a float always eight bytes. Bytes behind the value are copied unread. On an
// error dst is returned unchanged: field.ErrNotFound, *format.TypeError if v cannot be converted to the old value's
// kind, or an error of Lookup.
func (f Format) Patch(dst, data []byte, p field.Path, v field.Value) ([]byte, error) {
	at, end, err := f.patch(data, p, &v)
	if err != nil {
		return dst, err
	}
	dst = append(dst, data[:at]...)
	dst = appendValue(dst, &v)
	return append(dst, data[end:]...), nil
}

// PatchInPlace overwrites the value at p in data itself if v, encoded as Patch does, takes exactly as many bytes.
// Otherwise it returns false and leaves data unchanged. Its cost does not depend on the bytes behind the value.
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
	appendValue(data[at:at:end], &v)
	return true, nil
}

// patch returns where the value at p lies, without its tags, and converts v to its kind.
func (f Format) patch(data []byte, p field.Path, v *field.Value) (at, end int, err error) {
	s, err := f.Lookup(data, p)
	if err != nil {
		return 0, 0, err
	}
	return patchRange(data, s, v)
}

// patchRange is patch for the value at s.
func patchRange(data []byte, s field.Span, v *field.Value) (at, end int, err error) {
	if err := convert.Replace("cbor", v, s.Kind); err != nil {
		return 0, 0, err
	}
	if at = s.Head; data[at]>>5 == cborhead.Tag {
		_, at, err = skipTags(data, at)
	}
	return at, s.End, err
}

// hasSameHead reports whether a text of n bytes has the same head as the text at s. This is the common case: most edits
// in place change an ID.
func hasSameHead(data []byte, s field.Span, n int) bool {
	b := data[s.Head]
	return b>>5 == cborhead.Text && b&31 != cborhead.Indefinite && s.End-s.Off == n && s.Off-s.Head == cborhead.Size(uint64(n))
}

func appendValue(dst []byte, v *field.Value) []byte { return append(appendStart(dst, v), v.Bytes...) }

// appendStart appends the encoding of v without the content of a text or byte string.
func appendStart(dst []byte, v *field.Value) []byte {
	switch v.Kind {
	case field.Bool:
		if v.Bool {
			return append(dst, cborhead.True)
		}
		return append(dst, cborhead.False)
	case field.Int, field.Text, field.Bytes:
		major, arg := headOf(v)
		return cborhead.Append(dst, major, arg)
	case field.Float:
		return binary.BigEndian.AppendUint64(append(dst, cborhead.Float64), math.Float64bits(v.Float))
	}
	return append(dst, cborhead.Null)
}

// encodedSize returns how many bytes appendValue writes.
func encodedSize(v *field.Value) int {
	switch v.Kind {
	case field.Int, field.Text, field.Bytes:
		_, arg := headOf(v)
		return cborhead.Size(arg) + len(v.Bytes)
	case field.Float:
		return 9
	}
	return 1
}

// headOf returns the head of an integer, text or byte string.
func headOf(v *field.Value) (major byte, arg uint64) {
	switch {
	case v.Kind == field.Text:
		return cborhead.Text, uint64(len(v.Bytes))
	case v.Kind == field.Bytes:
		return cborhead.Bytes, uint64(len(v.Bytes))
	case v.Int < 0 && !v.Unsigned:
		return cborhead.Nint, ^uint64(v.Int) // -1-n
	}
	return cborhead.Uint, uint64(v.Int)
}

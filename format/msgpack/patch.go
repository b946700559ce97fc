package msgpack

import (
	"encoding/binary"
	"math"

	"example.com/ferry/field"
	"example.com/ferry/format/internal/convert"
)

// Patch appends data to dst with the value at p replaced by v, and returns the extended dst. No other byte changes,
// because containers count items and not bytes. An integer, text or byte string has the shortest form. A non-negative
// integer has an unsigned form. A float always has eight bytes. Bytes after the value are copied unread. On an error
// Patch returns dst unchanged. The errors are field.ErrNotFound, *format.TypeError if v cannot be converted to the old
// value's kind, and those of Lookup.
func (f Format) Patch(dst, data []byte, p field.Path, v field.Value) ([]byte, error) {
	s, err := f.patch(data, p, &v)
	if err != nil {
		return dst, err
	}
	dst = append(dst, data[:s.Head]...)
	dst = append(appendHead(dst, &v), v.Bytes...)
	return append(dst, data[s.End:]...), nil
}

// PatchInPlace overwrites the value at p in data itself. It does so only if v, encoded as in Patch, has exactly as many
// bytes as the old value. Otherwise it returns false and leaves data unchanged. The cost does not depend on the bytes
// after the value.
func (f Format) PatchInPlace(data []byte, p field.Path, v field.Value) (bool, error) {
	s, err := f.patch(data, p, &v)
	if err != nil {
		return false, err
	}
	var room [9]byte
	head := appendHead(room[:0], &v)
	if len(head)+len(v.Bytes) != s.End-s.Head {
		return false, nil
	}
	copy(data[s.Head:], head)
	copy(data[s.Head+len(head):], v.Bytes)
	return true, nil
}

// patch returns the span of the value at p, and converts v to the kind of that value.
func (f Format) patch(data []byte, p field.Path, v *field.Value) (field.Span, error) {
	s, err := f.Lookup(data, p)
	if err != nil {
		return field.Span{}, err
	}
	if err := convert.Replace("msgpack", v, s.Kind); err != nil {
		return field.Span{}, err
	}
	if uint64(len(v.Bytes)) > math.MaxUint32 {
		return field.Span{}, errTooLong
	}
	return s, nil
}

// AppendScalar appends the encoding of v, which is no container, as Patch writes it. A text or byte string of more than 4294967295 bytes is an
// error.
func AppendScalar(dst []byte, v *field.Value) ([]byte, error) {
	if uint64(len(v.Bytes)) > math.MaxUint32 {
		return nil, errTooLong
	}
	return append(appendHead(dst, v), v.Bytes...), nil
}

// AppendText is AppendScalar for a text.
func AppendText(dst []byte, text string) ([]byte, error) {
	if uint64(len(text)) > math.MaxUint32 {
		return nil, errTooLong
	}
	return append(appendTextHead(dst, len(text)), text...), nil
}

// AppendContainer appends the shortest head of a List of n items, or of a Map of n pairs.
func AppendContainer(dst []byte, kind field.Kind, n uint64) []byte {
	fix, wide := byte(byteFixArray), byte(byteArray16)
	if kind == field.Map {
		fix, wide = byteFixMap, byteMap16
	}
	switch {
	case n <= 15:
		return append(dst, fix|byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, wide), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, wide+1), uint32(n))
}

// appendHead appends the encoding of v. For a text or byte string it appends only the head, without the content.
func appendHead(dst []byte, v *field.Value) []byte {
	switch v.Kind {
	case field.Bool:
		if v.Bool {
			return append(dst, byteTrue)
		}
		return append(dst, byteFalse)
	case field.Int:
		if v.Int < 0 && !v.Unsigned {
			return appendNegative(dst, v.Int)
		}
		if v.Int >= 0 && v.Int < byteFixMap {
			return append(dst, byte(v.Int))
		}
		return appendSized(dst, byteUint8, uint64(v.Int))
	case field.Text:
		return appendTextHead(dst, len(v.Bytes))
	case field.Bytes:
		return appendSized(dst, byteBin8, uint64(len(v.Bytes)))
	case field.Float:
		return binary.BigEndian.AppendUint64(append(dst, byteFloat64), math.Float64bits(v.Float))
	}
	return append(dst, byteNil)
}

func appendTextHead(dst []byte, size int) []byte {
	if size < 32 {
		return append(dst, byteFixStr|byte(size))
	}
	return appendSized(dst, byteStr8, uint64(size))
}

// appendSized appends a first byte and the integer n in the fewest bytes. first is the first byte of the form in which
// n has one byte.
func appendSized(dst []byte, first byte, n uint64) []byte {
	switch {
	case n <= math.MaxUint8:
		return append(dst, first, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, first+1), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, first+2), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, first+3), n)
}

func appendNegative(dst []byte, n int64) []byte {
	switch {
	case n >= -32: // negative fixint
		return append(dst, byte(n))
	case n >= math.MinInt8:
		return append(dst, byteInt8, byte(n))
	case n >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(dst, byteInt8+1), uint16(n))
	case n >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(dst, byteInt8+2), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, byteInt8+3), uint64(n))
}

package protobuf

import (
	"encoding/binary"
	"fmt"
	"math"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/convert"
	"example.com/ferry/format/schema"
)

// Cast returns v as a value of the type as. A value out of the type's range or of another kind gives *format.TypeError.
// A float32 is rounded. The number of bytes of the encoding depends on the field, not on as.
func (Format) Cast(v field.Value, as field.Type) (field.Value, error) {
	return convert.Read("protobuf", v, as)
}

// AppendTag appends the tag of a record of the type t.
func AppendTag(dst []byte, number int, t schema.Type) []byte {
	return appendTag(dst, number, encodingOf(t).wire)
}

// AppendScalar appends the content of a record of the type t, which is not Nested. Before text and bytes it appends their length. A value
// that the type cannot hold gives *format.TypeError.
func AppendScalar(dst []byte, t schema.Type, v field.Value) ([]byte, error) {
	if isPackable(t) {
		return appendTyped(dst, t, v)
	}
	content, err := appendTyped(nil, t, v)
	if err != nil {
		return nil, err
	}
	return append(binary.AppendUvarint(dst, uint64(len(content))), content...), nil
}

// appendTyped appends the content of a value of type t. For text and bytes it returns the content itself, without dst.
func appendTyped(dst []byte, t schema.Type, v field.Value) ([]byte, error) {
	s := encodingOf(t)
	given := v.Kind
	if err := convert.Replace("protobuf", &v, s.kind); err != nil {
		return nil, err
	}
	n, err := convert.Read("protobuf", v, t.Field())
	if err != nil {
		return nil, err
	}
	switch s.kind {
	case field.Bool:
		if n.Bool {
			return append(dst, 1), nil
		}
		return append(dst, 0), nil
	case field.Int:
		if s.zigzag {
			n.Int = n.Int<<1 ^ n.Int>>63
		}
		return appendInt(dst, s.wire, n.Int), nil
	case field.Float:
		if n.Float != v.Float && v.Float == v.Float {
			return nil, typeMismatch(given, t.Field(), fmt.Sprintf("%v would be rounded: cast it to float32", v.Float))
		}
		return appendFloat(dst, s.wire, n.Float), nil
	}
	return n.Bytes, nil
}

// appendUntyped appends the content of a field that no schema describes. The wire type decides which kinds of v are
// accepted. For a field with a length it returns the content itself, without dst.
func appendUntyped(dst []byte, wire wireType, v field.Value) ([]byte, error) {
	reason := "a value of this kind is not written so"
	switch {
	case wire == wireLength:
		if v.Kind == field.Untyped || v.Kind == field.Text || v.Kind == field.Bytes {
			return v.Bytes, nil
		}
	case wire == wireStart:
		reason = "what is in a group cannot be changed"
	case v.Kind == field.Untyped:
		if wire.isOneValue(v.Bytes) {
			return append(dst, v.Bytes...), nil
		}
		reason = fmt.Sprintf("% x is not one value of that wire type", v.Bytes)
	case v.Kind == field.Bool && wire == wireVarint:
		return appendTyped(dst, schema.Bool, v)
	case v.Kind == field.Int:
		if wire != wireFixed32 || !v.Unsigned && v.Int >= math.MinInt32 && v.Int <= math.MaxUint32 {
			return appendInt(dst, wire, v.Int), nil
		}
		reason = "it is out of the range of four bytes"
	case v.Kind == field.Float && wire == wireFixed32:
		return appendTyped(dst, schema.Float32, v)
	case v.Kind == field.Float && wire == wireFixed64:
		return appendTyped(dst, schema.Float64, v)
	}
	return nil, typeMismatch(field.Untyped, field.AnyType, fmt.Sprintf("the field has wire type %d, the new value is %v: %s", wire, v.Kind, reason))
}

// isOneValue reports whether b is the content of exactly one record of this wire type. w is neither wireLength nor a group.
func (w wireType) isOneValue(b []byte) bool {
	switch w {
	case wireFixed32:
		return len(b) == 4
	case wireFixed64:
		return len(b) == 8
	}
	_, ok := wholeVarint(b)
	return ok
}

// validatedMessage validates the records in v and returns them. v is a message; depth is the number of steps in its path.
func validatedMessage(m *schema.Message, v field.Value, depth int) ([]byte, error) {
	most := format.Options{}.Depth() - depth
	if most < 1 {
		return nil, typeMismatch(v.Kind, field.AnyType, "the message would nest too deep")
	}
	if err := (Format{m}).Validate(v.Bytes, format.Options{MaxDepth: most}); err != nil {
		return nil, fmt.Errorf("protobuf: the new message: %w", err)
	}
	return v.Bytes, nil
}

func appendInt(dst []byte, wire wireType, n int64) []byte {
	switch wire {
	case wireFixed32:
		return binary.LittleEndian.AppendUint32(dst, uint32(n))
	case wireFixed64:
		return binary.LittleEndian.AppendUint64(dst, uint64(n))
	}
	return binary.AppendUvarint(dst, uint64(n))
}

func appendFloat(dst []byte, wire wireType, x float64) []byte {
	if wire == wireFixed32 {
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(x)))
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
}

func appendTag(dst []byte, number int, wire wireType) []byte {
	return binary.AppendUvarint(dst, uint64(number)<<3|uint64(wire))
}

// uvarintSize returns how many bytes the varint of the length n has.
func uvarintSize(n int) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}

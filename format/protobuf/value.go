package protobuf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/convert"
	"example.com/ferry/format/schema"
)

var errSpan = errors.New("protobuf: the span does not lie in the data: it comes from another message or schema")

// Value decodes the scalar at s. If s has a kind from a schema, Value converts it to the requested type. For an integer
// it also reads the schema again, which costs about as much as Lookup. Without a schema, the requested type tells how
// to decode the bytes. A varint may be read as any integer or as a bool. Four bytes may be read as int32, uint32 or
// float32, and eight bytes as int64, uint64 or float64. Bytes with a length may be read as a string or as bytes.
// AnyType gives Untyped with the encoded bytes. A value that the type cannot hold gives *format.TypeError. Text and
// Bytes are views into data.
func (f Format) Value(data []byte, s field.Span, as field.Type) (field.Value, error) {
	if s.Head < 0 || s.Head > s.Off || s.Off > s.End || s.End > len(data) {
		return field.Value{}, errSpan
	}
	b := data[s.Off:s.End:s.End]
	t := schema.Bytes
	switch s.Kind {
	case field.Untyped:
		if s.Head == s.Off {
			return field.Value{}, errSpan
		}
		return untypedValue(wireType(data[s.Head]&7), b, as)
	case field.Text:
		t = schema.String
	case field.Bytes:
	case field.Float:
		t = schema.Float64
	case field.Bool:
		t = schema.Bool
	case field.Int:
		d := f.shapeAt(data, s)
		if d == nil {
			return field.Value{}, errSpan
		}
		t = d.Type
	default:
		return field.Value{}, typeMismatch(s.Kind, as, "it is no scalar: name one inside it")
	}
	v, ok := decode(t, b)
	if !ok {
		return field.Value{}, errSpan
	}
	return convert.Read("protobuf", v, as)
}

// View returns the content of the text at s. Only a schema tells that a field is a text. View allocates nothing.
func (Format) View(data []byte, s field.Span) ([]byte, bool) {
	if s.Kind != field.Text || uint(s.End) > uint(len(data)) || uint(s.Off) > uint(s.End) {
		return nil, false
	}
	return data[s.Off:s.End:s.End], true
}

// shapeAt returns the field that the schema declares for s, or nil. s is a span of Lookup, Find or Walk.
func (f Format) shapeAt(data []byte, s field.Span) *schema.Field {
	m, hint := f.Message, 0
	for pos, end := 0, len(data); pos < end; {
		r, err := readRecord(data, pos, end)
		if err != nil {
			return nil
		}
		pos = r.end
		if r.end <= s.Head {
			continue
		}
		d := fieldByNumber(m, r.number(), &hint)
		if d == nil || d.Type != schema.Nested {
			return d
		}
		m, pos, end = d.Message, r.off, r.end
	}
	return nil
}

// untypedValue decodes the content of a record as the requested type.
func untypedValue(wire wireType, b []byte, as field.Type) (field.Value, error) {
	t, ok := schema.Bytes, false
	switch {
	case as == field.AnyType:
		return field.Value{Kind: field.Untyped, Bytes: b}, nil
	case as == field.String && wire == wireLength && !utf8.Valid(b):
		return field.Value{}, typeMismatch(field.Untyped, as, "it is not UTF-8: read it as bytes")
	case as <= field.ByteString:
		t, ok = untypedEncodings[as][wire&7]-1, untypedEncodings[as][wire&7] > 0
	}
	if !ok {
		return field.Value{}, typeMismatch(field.Untyped, as, fmt.Sprintf("wire type %d holds none: it has %d bytes", wire, len(b)))
	}
	v, ok := decode(t, b)
	if !ok {
		return field.Value{}, errSpan
	}
	return convert.Read("protobuf", v, as)
}

// Scalar decodes the content of a record, without its tag and length, as a value of the type t, which is not Nested. Text and Bytes are
// views into b. Content that is none of that type, or out of its range, gives *format.TypeError.
func Scalar(b []byte, t schema.Type) (field.Value, error) {
	v, ok := decode(t, b)
	switch {
	case !ok:
		return field.Value{}, typeMismatch(field.Untyped, t.Field(), fmt.Sprintf("it has %d bytes", len(b)))
	case v.Kind == field.Text && !utf8.Valid(b):
		return field.Value{}, typeMismatch(field.Untyped, t.Field(), "it is not UTF-8: read it as bytes")
	}
	return convert.Read("protobuf", v, t.Field())
}

// decode reads all of b as a value of type t. It returns false if b does not have the size of one.
func decode(t schema.Type, b []byte) (v field.Value, ok bool) {
	v, ok = field.Value{Kind: encodingOf(t).kind}, true
	switch v.Kind {
	case field.Int:
		return decodeInteger(t, b)
	case field.Float:
		v.Float, ok = decodeFloat(b)
	case field.Bool:
		var n uint64
		n, ok = wholeVarint(b)
		v.Bool = n != 0
	default:
		v.Bytes = b
	}
	return v, ok
}

// untypedEncodings tells how to decode a value without a schema. The indices are the requested type and the wire type.
// An element is a schema type plus one; 0 means that the two do not fit.
var untypedEncodings = [...][8]schema.Type{
	field.Int32:      {wireVarint: schema.Int32 + 1, wireFixed32: schema.Sfixed32 + 1},
	field.Uint32:     {wireVarint: schema.Uint32 + 1, wireFixed32: schema.Fixed32 + 1},
	field.Int64:      {wireVarint: schema.Int64 + 1, wireFixed64: schema.Sfixed64 + 1},
	field.Uint64:     {wireVarint: schema.Uint64 + 1, wireFixed64: schema.Fixed64 + 1},
	field.Float32:    {wireFixed32: schema.Float32 + 1},
	field.Float64:    {wireFixed64: schema.Float64 + 1},
	field.String:     {wireLength: schema.String + 1},
	field.Boolean:    {wireVarint: schema.Bool + 1},
	field.ByteString: {wireLength: schema.Bytes + 1},
}

// decodeInteger reads all of b as type t. The varint of a narrow type may have more bits than the type. Writers fill
// these bits with zeros or with copies of the sign, and decodeInteger drops both. With other bits, the result is out of
// the range of t. It returns false if b does not have the size of a number of type t.
func decodeInteger(t schema.Type, b []byte) (field.Value, bool) {
	s := encodingOf(t)
	var n uint64
	ok := true
	switch s.wire {
	case wireVarint:
		n, ok = wholeVarint(b)
	case wireFixed32:
		if ok = len(b) == 4; ok {
			n = uint64(binary.LittleEndian.Uint32(b))
		}
	case wireFixed64:
		if ok = len(b) == 8; ok {
			n = binary.LittleEndian.Uint64(b)
		}
	}
	if s.zigzag {
		n = n>>1 ^ -(n & 1)
	}
	narrow := n == uint64(uint32(n)) || n == uint64(int32(n))
	switch as := t.Field(); {
	case as == field.Int32 && narrow && !s.zigzag:
		n = uint64(int32(n))
	case as == field.Uint32 && narrow:
		n = uint64(uint32(n))
	case as == field.Uint64 || as == field.Uint32:
		return field.Value{Kind: field.Int, Int: int64(n), Unsigned: n > math.MaxInt64}, ok
	}
	return field.Value{Kind: field.Int, Int: int64(n)}, ok
}

// wholeVarint reads all of b as one varint.
func wholeVarint(b []byte) (uint64, bool) {
	n, end, err := readVarint(b, 0, len(b))
	return n, err == nil && end == len(b)
}

// decodeFloat reads a float of four or eight bytes. IEEE 754 binary32 or binary64.
func decodeFloat(b []byte) (float64, bool) {
	switch len(b) {
	case 4:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), true
	case 8:
		return math.Float64frombits(binary.LittleEndian.Uint64(b)), true
	}
	return 0, false
}

func typeMismatch(have field.Kind, want field.Type, reason string) error {
	return &format.TypeError{Format: "protobuf", Have: have, Want: want, Reason: reason}
}

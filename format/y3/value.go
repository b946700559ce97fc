package y3

import (
	"fmt"
	"math"
	"unicode/utf8"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// Value decodes the primitive at s as the requested type, because the bytes carry no type. AnyType gives Untyped with
// the encoded bytes. If the bytes are not an encoding of the type, or if the type cannot hold the value, the error is
// *format.TypeError.
func (f Format) Value(data []byte, s field.Span, as field.Type) (field.Value, error) {
	if s.Kind != field.Untyped {
		return field.Value{}, f.typeMismatch(s.Kind, as, "it is no primitive packet")
	}
	b := data[s.Off:s.End]
	switch as {
	case field.Int32, field.Int64, field.Uint32, field.Uint64:
		n, ok := f.Dialect.decodeInteger(b)
		if !ok {
			return field.Value{}, f.typeMismatch(s.Kind, as, fmt.Sprintf("its %d bytes are no integer", len(b)))
		}
		switch {
		case as == field.Uint32 && n < 0 && n >= math.MinInt32: // written as the int32 with the same bits
			n = int64(uint32(n))
		case as == field.Int32 && n != int64(int32(n)), as == field.Uint32 && n != int64(uint32(n)):
			return field.Value{}, f.typeMismatch(s.Kind, as, fmt.Sprintf("%d is out of range", n))
		}
		return field.Value{Kind: field.Int, Int: n, Unsigned: as == field.Uint64 && n < 0}, nil
	case field.Float32:
		if len(b) == 0 || len(b) > 4 {
			return field.Value{}, f.typeMismatch(s.Kind, as, fmt.Sprintf("it has %d bytes, not 1 to 4", len(b)))
		}
		return field.Value{Kind: field.Float, Float: float64(math.Float32frombits(uint32(bigEndian(b) << (8 * (4 - len(b))))))}, nil
	case field.Float64:
		if len(b) == 0 || len(b) > 8 {
			return field.Value{}, f.typeMismatch(s.Kind, as, fmt.Sprintf("it has %d bytes, not 1 to 8", len(b)))
		}
		return field.Value{Kind: field.Float, Float: math.Float64frombits(bigEndian(b) << (8 * (8 - len(b))))}, nil
	case field.Boolean:
		if f.Dialect == N && len(b) == 0 {
			return field.Value{Kind: field.Bool}, nil
		}
		if len(b) != 1 || b[0] > 1 {
			return field.Value{}, f.typeMismatch(s.Kind, as, "it is neither 00 nor 01")
		}
		return field.Value{Kind: field.Bool, Bool: b[0] == 1}, nil
	case field.String:
		if !utf8.Valid(b) {
			return field.Value{}, f.typeMismatch(s.Kind, as, "it is not UTF-8: read it as bytes")
		}
		return field.Value{Kind: field.Text, Bytes: b}, nil
	case field.ByteString:
		return field.Value{Kind: field.Bytes, Bytes: b}, nil
	}
	return field.Value{Kind: field.Untyped, Bytes: b}, nil
}

func (f Format) typeMismatch(have field.Kind, want field.Type, reason string) error {
	return &format.TypeError{Format: f.Name(), Have: have, Want: want, Reason: reason}
}

// bigEndian reads all of b, which has at most eight bytes.
func bigEndian(b []byte) uint64 {
	var n uint64
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n
}

// decodeInteger reads all of b as one signed integer of at most 64 bits.
func (d Dialect) decodeInteger(b []byte) (int64, bool) {
	if len(b) == 0 {
		return 0, false
	}
	if d == N { // NVarInt: two's complement
		if len(b) > 8 {
			return 0, false
		}
		shift := 8 * (8 - len(b))
		return int64(bigEndian(b)<<shift) >> shift, true
	}
	const maxBytes = 10
	if len(b) > maxBytes || len(b) == maxBytes && b[0] != 0x80 && b[0] != 0xff { // the tenth byte may only repeat the sign
		return 0, false
	}
	n := int64(b[0]) << 57 >> 63 // bit 6 of the first byte is the sign
	for i, c := range b {
		if c >= 0x80 != (i < len(b)-1) {
			return 0, false
		}
		n = n<<7 | int64(c&0x7f)
	}
	return n, true
}

func (d Dialect) appendInteger(dst []byte, n int64) []byte {
	if d == N {
		size := 1
		for ; size < 8 && n>>(8*size-1) != n>>63; size++ {
		}
		for shift := 8 * (size - 1); shift >= 0; shift -= 8 {
			dst = append(dst, byte(n>>shift))
		}
		return dst
	}
	size := 1
	for ; size < 10 && n>>(7*size-1) != n>>63; size++ {
	}
	for shift := 7 * (size - 1); shift > 0; shift -= 7 {
		dst = append(dst, 0x80|byte(n>>shift))
	}
	return append(dst, byte(n&0x7f))
}

// appendFloat appends the upper size bytes of bits. It omits zero bytes at the end, but appends at least one byte.
func appendFloat(dst []byte, bits uint64, size int) []byte {
	for size > 1 && byte(bits>>(64-8*size)) == 0 {
		size--
	}
	for i := range size {
		dst = append(dst, byte(bits>>(56-8*i)))
	}
	return dst
}

func appendFloat32(dst []byte, v float32) []byte {
	return appendFloat(dst, uint64(math.Float32bits(v))<<32, 4)
}

func appendFloat64(dst []byte, v float64) []byte { return appendFloat(dst, math.Float64bits(v), 8) }

func appendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

package cbor

import (
	"math/big"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/internal/cborhead"
)

var _ format.NumberReader = Format{}

// Tags of integers of any size. RFC 8949, section 3.4.3.
const (
	tagBignum         = 2
	tagNegativeBignum = 3
)

// maxBignum is the length of the largest integer that Number reads, in bytes. The time to convert one to decimal digits
// grows faster than its length.
const maxBignum = 448

// Number returns the integer at s if it is below int64, or a bignum of up to 448 bytes (tags 2 and 3).
func (Format) Number(data []byte, s field.Span) (field.Value, bool) {
	if s.Head < 0 || s.Head >= s.End || s.End > len(data) {
		return field.Value{}, false
	}
	data = data[:s.End]
	var tag uint64
	h, err := cborhead.Read(data, s.Head)
	for ; err == nil && h.Major == cborhead.Tag; h, err = cborhead.Read(data, h.Next) {
		tag = h.Arg
	}
	var n big.Int
	switch {
	case err != nil:
		return field.Value{}, false
	case h.Major == cborhead.Nint:
		n.Not(n.SetUint64(h.Arg)) // -1-n
	case h.Major == cborhead.Bytes && (tag == tagBignum || tag == tagNegativeBignum):
		content := stringContent(data, h, s.End)
		for len(content) > 0 && content[0] == 0 {
			content = content[1:]
		}
		if len(content) > maxBignum {
			return field.Value{}, false
		}
		if n.SetBytes(content); tag == tagNegativeBignum {
			n.Not(&n)
		}
	default:
		return field.Value{}, false
	}
	return valueOf(&n), true
}

// valueOf returns n as an Int if it fits int64 or uint64, and else as a Float with its digits.
func valueOf(n *big.Int) field.Value {
	switch {
	case n.IsInt64():
		return field.Value{Kind: field.Int, Int: n.Int64()}
	case n.IsUint64():
		return field.Value{Kind: field.Int, Int: int64(n.Uint64()), Unsigned: true}
	}
	f, _ := new(big.Float).SetInt(n).Float64()
	return field.DecimalValue(f, n.Append(nil, 10))
}

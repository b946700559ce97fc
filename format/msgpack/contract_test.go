package msgpack

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format/formattest"
)

func TestContract(t *testing.T) {
	formattest.Run(t, Format{}, func(r *rand.Rand) []byte { return random(r, nil, 0) })
}

// value appends a scalar in its shortest form.
func value(dst []byte, v field.Value) []byte { return append(appendHead(dst, &v), v.Bytes...) }

// container appends the head of an array or map in a random form. n is the number of items or pairs.
func container(r *rand.Rand, dst []byte, fix, wide byte, n int) []byte {
	switch form := r.IntN(3); {
	case form == 0 && n < 16:
		return append(dst, fix|byte(n))
	case form == 1:
		return binary.BigEndian.AppendUint32(append(dst, wide+1), uint32(n))
	}
	return binary.BigEndian.AppendUint16(append(dst, wide), uint16(n))
}

// random appends one random item of any kind. The keys of a map differ from each other.
func random(r *rand.Rand, dst []byte, depth int) []byte {
	lengths := []int{0, 1, 31, 32, 256 >> (depth / 2)}
	kinds := 9
	if depth < 5 && len(dst) < 600 {
		kinds = 14
	}
	switch k := r.IntN(kinds); k {
	case 0, 1:
		return value(dst, field.Value{Kind: field.Int, Int: int64(r.Uint64()) >> r.IntN(64), Unsigned: k == 1 && r.IntN(2) == 0})
	case 2:
		first := byteUint8 + byte(r.IntN(8))
		return append(append(dst, first), make([]byte, itemLengths[first]-1)...)
	case 3:
		return value(dst, field.Value{Kind: field.Bytes, Bytes: make([]byte, lengths[r.IntN(len(lengths))])})
	case 4, 5:
		s := strings.Repeat("é", r.IntN(3)) + strings.Repeat("x", lengths[r.IntN(len(lengths))])
		return value(dst, field.Value{Kind: field.Text, Bytes: []byte(s)})
	case 6:
		return append(dst, []byte{byteNil, byteFalse, byteTrue}[r.IntN(3)])
	case 7:
		if r.IntN(2) == 0 {
			return binary.BigEndian.AppendUint32(append(dst, byteFloat32), math.Float32bits(r.Float32()))
		}
		return value(dst, field.Value{Kind: field.Float, Float: r.NormFloat64()})
	case 8:
		if r.IntN(2) == 0 {
			return append(dst, byteExt8, 3, 5, 1, 2, 3)
		}
		return append(dst, byteFixExt1+2, timestampType, 0, 0, 0, byte(r.Uint32()))
	case 9, 10:
		n := r.IntN(8)
		dst = container(r, dst, byteFixArray, byteArray16, n)
		for range n {
			dst = random(r, dst, depth+3)
		}
		return dst
	default:
		n := r.IntN(6)
		if depth == 0 && k == 13 {
			n = 60 + r.IntN(20)
		}
		dst = container(r, dst, byteFixMap, byteMap16, n)
		for i := range n {
			if r.IntN(3) == 0 {
				number := int64(i * i * i * 3)
				if i&1 == 1 {
					number = -number
				}
				dst = value(dst, field.Value{Kind: field.Int, Int: number})
			} else {
				name := fmt.Sprintf("%.*s%d", 1+r.IntN(26), ".key.abcdefghijklmnopqrstuvwxyz", -1-i)
				dst = value(dst, field.Value{Kind: field.Text, Bytes: []byte(name)})
			}
			dst = random(r, dst, depth+2)
		}
		return dst
	}
}

package cbor

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"example.com/ferry/format/formattest"
	"example.com/ferry/internal/cborhead"
)

func TestContract(t *testing.T) {
	formattest.Run(t, Format{}, func(r *rand.Rand) []byte { return appendRandomItem(r, nil, 0) })
}

// appendRandomItem appends one random item. The keys of a map are unique.
func appendRandomItem(r *rand.Rand, dst []byte, depth int) []byte {
	lengths := []int{0, 1, 2, 23, 24, 256 >> (depth / 2)}
	kinds := 10
	if depth < 5 && len(dst) < 600 {
		kinds = 16
	}
	switch k := r.IntN(kinds); k {
	case 0, 1:
		return cborhead.Append(dst, byte(k), r.Uint64()>>r.IntN(64))
	case 2:
		return append(cborhead.Append(dst, cborhead.Bytes, 24), make([]byte, 24)...)
	case 3, 4:
		s := strings.Repeat("é", r.IntN(3)) + strings.Repeat("x", lengths[r.IntN(len(lengths))])
		return append(cborhead.Append(dst, cborhead.Text, uint64(len(s))), s...)
	case 5:
		return append(dst, 0xf4+byte(r.IntN(4)))
	case 6:
		return binary.BigEndian.AppendUint16(append(dst, cborhead.Float16), 0x3c00|uint16(r.IntN(1024)))
	case 7:
		return binary.BigEndian.AppendUint32(append(dst, cborhead.Float32), math.Float32bits(r.Float32()))
	case 8:
		return binary.BigEndian.AppendUint64(append(dst, cborhead.Float64), math.Float64bits(r.NormFloat64()))
	case 9:
		return append(dst, 0x7f, 0x61, 'a', 0x60, 0x62, 'b', 'c', cborhead.Break)
	case 10:
		return appendRandomItem(r, cborhead.Append(dst, cborhead.Tag, r.Uint64()>>r.IntN(64)), depth+1)
	case 11, 12:
		n := r.IntN(8)
		dst = cborhead.Append(dst, cborhead.Array, uint64(n))
		for range n {
			dst = appendRandomItem(r, dst, depth+3)
		}
		return dst
	default:
		n := r.IntN(6)
		if depth == 0 && k == 15 {
			n = 60 + r.IntN(20)
		}
		open := r.IntN(4) == 0
		if open {
			dst = append(dst, cborhead.Map<<5|cborhead.Indefinite)
		} else {
			dst = cborhead.Append(dst, cborhead.Map, uint64(n))
		}
		for i := range n {
			if r.IntN(3) == 0 {
				dst = cborhead.Append(dst, byte(i&1), uint64(i*i*i*3))
			} else {
				name := fmt.Sprintf("%.*s%d", 1+r.IntN(26), ".key.abcdefghijklmnopqrstuvwxyz", -1-i)
				dst = append(cborhead.Append(dst, cborhead.Text, uint64(len(name))), name...)
			}
			dst = appendRandomItem(r, dst, depth+2)
		}
		if open {
			dst = append(dst, cborhead.Break)
		}
		return dst
	}
}

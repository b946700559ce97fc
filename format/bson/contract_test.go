package bson

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"example.com/ferry/format/formattest"
)

func TestContract(t *testing.T) {
	formattest.Run(t, Format{}, func(r *rand.Rand) []byte { return appendRandomDocument(r, nil, false, 0) })
}

// closeDocument appends the NUL of the document that begins at start, and sets the document's length.
func closeDocument(dst []byte, start int) []byte {
	dst = append(dst, 0)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start))
	return dst
}

func randomString(r *rand.Rand, dst []byte) []byte {
	s := strings.Repeat("é", r.IntN(3)) + strings.Repeat("x", []int{0, 1, 7, 8, 250}[r.IntN(5)])
	return append(append(binary.LittleEndian.AppendUint32(dst, uint32(len(s)+1)), s...), 0)
}

// appendRandomDocument appends a document or array with random elements. The keys of a document are unique.
func appendRandomDocument(r *rand.Rand, dst []byte, array bool, depth int) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	n := r.IntN(8)
	if depth == 0 && r.IntN(6) == 0 {
		n = 60 + r.IntN(20)
	}
	scalars := []byte{
		typeDouble, typeString, typeBinary, typeUndefined, typeObjectID, typeBool, typeDatetime, typeNull, typeRegex,
		typeDBPointer, typeCode, typeSymbol, typeInt32, typeTimestamp, typeInt64, typeDecimal128, typeMaxKey, typeMinKey,
	}
	for i := range n {
		typ := scalars[r.IntN(len(scalars))]
		if depth < 4 && len(dst) < 600 && r.IntN(3) == 0 {
			typ = []byte{typeDocument, typeArray, typeCodeWithScope}[r.IntN(3)]
		}
		name := fmt.Sprintf("%.*s%d", r.IntN(20), "key.abcdefghijklmnop", i)
		if array {
			name = strconv.Itoa(i)
		}
		dst = append(append(append(dst, typ), name...), 0)
		switch at := len(dst); typ {
		case typeDocument, typeArray:
			dst = appendRandomDocument(r, dst, typ == typeArray, depth+1)
		case typeCodeWithScope:
			dst = appendRandomDocument(r, randomString(r, append(dst, 0, 0, 0, 0)), false, depth+1)
			binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at))
		case typeString, typeCode, typeSymbol:
			dst = randomString(r, dst)
		case typeDBPointer:
			dst = append(randomString(r, dst), "123456789012"...)
		case typeRegex:
			dst = append(dst, "^a.*é$\x00im\x00"...)
		case typeBinary:
			size := []int{0, 1, 300}[r.IntN(3)]
			dst = binary.LittleEndian.AppendUint32(dst, uint32(size))
			if subtype := []byte{0, subtypeOldBinary, 4, 0x80}[r.IntN(4)]; subtype == subtypeOldBinary {
				binary.LittleEndian.PutUint32(dst[at:], uint32(size+4))
				dst = binary.LittleEndian.AppendUint32(append(dst, subtype), uint32(size))
			} else {
				dst = append(dst, subtype)
			}
			dst = append(dst, make([]byte, size)...)
		case typeBool:
			dst = append(dst, byte(r.IntN(2)))
		case typeDouble:
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(r.NormFloat64()))
		default:
			for range sizeByType[typ] {
				dst = append(dst, byte(r.Uint32()))
			}
		}
	}
	return closeDocument(dst, start)
}

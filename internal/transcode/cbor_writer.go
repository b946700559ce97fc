package transcode

import (
	"errors"
	"math/big"
	"strconv"
	"strings"

	"example.com/ferry/field"
	"example.com/ferry/format/cbor"
	"example.com/ferry/internal/cborhead"
)

// Tags for integers of any size. RFC 8949, section 3.4.3.
const (
	tagBignum         = 2
	tagNegativeBignum = 3
)

// newCBORWriter writes CBOR, RFC 8949, with definite lengths.
func newCBORWriter(notes *Notes) *countedWriter {
	return &countedWriter{
		notes: notes, float32Byte: cborhead.Float32, decimal: true,
		appendHead: func(dst []byte, kind field.Kind, items uint64) []byte {
			if kind == field.List {
				return cborhead.Append(dst, cborhead.Array, items)
			}
			return cborhead.Append(dst, cborhead.Map, items)
		},
		appendScalar: func(dst []byte, v *field.Value) ([]byte, error) { return cbor.AppendScalar(dst, v), nil },
	}
}

// maxDigits bounds the integers without a fixed size. The time to convert one grows faster than its length.
const maxDigits = 4096

// appendBignum appends an integer of any size from decimal text.
func appendBignum(dst []byte, text string) ([]byte, error) {
	if n, err := strconv.ParseUint(strings.TrimPrefix(text, "-"), 10, 64); err == nil {
		if text[0] == '-' {
			return cborhead.Append(dst, cborhead.Nint, n-1), nil
		}
		return cborhead.Append(dst, cborhead.Uint, n), nil
	}
	if len(text) > maxDigits {
		return dst, errors.New("transcode: an integer of " + strconv.Itoa(len(text)) + " digits: at most " + strconv.Itoa(maxDigits))
	}
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return dst, errors.New("transcode: not a number: " + text)
	}
	tag := uint64(tagBignum)
	if n.Sign() < 0 {
		tag = tagNegativeBignum
		if n.Not(n).IsUint64() { // n.Not(n) is -1-n
			return cborhead.Append(dst, cborhead.Nint, n.Uint64()), nil
		}
	}
	dst = cborhead.Append(cborhead.Append(dst, cborhead.Tag, tag), cborhead.Bytes, uint64(len(n.Bytes())))
	return append(dst, n.Bytes()...), nil
}

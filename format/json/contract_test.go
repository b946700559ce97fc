package json

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"example.com/ferry/format/formattest"
)

func TestContract(t *testing.T) {
	formattest.Run(t, Format{}, func(r *rand.Rand) []byte { return append(appendRandomValue(r, gap(r, nil), 0), ' ') })
}

var spaces = []string{"", "", "", " ", "\n\t", "\r\n  "}

func gap(r *rand.Rand, dst []byte) []byte { return append(dst, spaces[r.IntN(len(spaces))]...) }

var texts = []string{
	`""`, `"x"`, `"seven77"`, `"eight888"`, `"\""`, `"a\\"`, `"\u00e9\n"`, `"é and 😀"`, `"\ud83d\ude00"`, `"\/\b\f\r\t"`,
	`"` + strings.Repeat("long ", 9) + `"`,
}

// appendRandomValue appends one random value. The names of an object are unique.
func appendRandomValue(r *rand.Rand, dst []byte, depth int) []byte {
	kinds := 6
	if depth < 5 && len(dst) < 300 {
		kinds = 10
	}
	switch r.IntN(kinds) {
	case 0:
		return strconv.AppendInt(dst, int64(r.Uint64())>>r.IntN(64), 10)
	case 1:
		return strconv.AppendUint(dst, r.Uint64(), 10)
	case 2:
		return strconv.AppendFloat(dst, r.NormFloat64()*1e10, "eEfgG"[r.IntN(5)], -1, 64)
	case 3:
		return append(dst, []string{"true", "false", "null", "-0", "0", "1E3", "123456789012345678901234567890"}[r.IntN(7)]...)
	case 4, 5:
		return append(dst, texts[r.IntN(len(texts))]...)
	case 6, 7:
		dst = gap(r, append(dst, '['))
		for i := range r.IntN(8) {
			if i > 0 {
				dst = gap(r, append(dst, ','))
			}
			dst = gap(r, appendRandomValue(r, dst, depth+1))
		}
		return append(dst, ']')
	}
	n := r.IntN(8)
	if depth == 0 && r.IntN(8) == 0 {
		n = 60 + r.IntN(10)
	}
	dst = gap(r, append(dst, '{'))
	for i := range n {
		if i > 0 {
			dst = gap(r, append(dst, ','))
		}
		name := fmt.Sprintf(`"%.*s%d"`, r.IntN(20), `key.abcdefghijklmnopqr`, i)
		if r.IntN(10) == 0 {
			name = fmt.Sprintf(`"\u00%02x.\"%d"`, 0x40+i%32, i)
		}
		dst = gap(r, append(append(dst, name...), ':'))
		dst = gap(r, appendRandomValue(r, dst, depth+1))
	}
	return append(dst, '}')
}

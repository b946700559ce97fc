package msgpack

import (
	"bytes"
	"math"
	"strconv"

	"example.com/ferry/field"
	"example.com/ferry/format/internal/keyset"
)

// key is a map key of any family.
type key struct {
	head
	at, end int
}

func readKey(data []byte, pos int) (key, error) {
	h, err := readHead(data, pos)
	if err != nil {
		return key{}, err
	}
	end, err := skip(data, pos, 1)
	return key{head: h, at: pos, end: end}, err
}

// is reports whether st asks for k.
func (k key) is(data []byte, st *field.Step) bool {
	switch k.kind {
	case field.Text:
		return string(data[k.off:k.end]) == st.Name
	case field.Int:
		n, ok := parseInteger(st.Name)
		return ok && n == integerAt(data, k.at)
	}
	return false
}

// step is how Walk names k.
func (k key) step(data []byte) field.Step {
	st := field.Step{Index: -1, Key: -1}
	switch k.kind {
	case field.Text:
		st.Name = string(data[k.off:k.end])
	case field.Int:
		n := integerAt(data, k.at)
		switch {
		case n.unsigned:
			st.Name = strconv.FormatUint(uint64(n.n), 10)
		case n.n < 0 || n.n > math.MaxInt32:
			st.Name = strconv.FormatInt(n.n, 10)
		default:
			st.Index = int(n.n)
		}
	}
	return st
}

// identity is what makes two keys the same one to some consumer: an integer and a text of the same digits are, as
// languages and paths exist that do not tell them apart.
type identity struct {
	number  integer
	content []byte // of a text that is no integer; else nil
}

// identity is that of a text or an integer.
func (k key) identity(data []byte) identity {
	if k.kind == field.Int {
		return identity{number: integerAt(data, k.at)}
	}
	text := data[k.off:k.end]
	if n, ok := parseInteger(text); ok {
		return identity{number: n}
	}
	return identity{content: text}
}

func (id identity) equal(o identity, fold bool) bool {
	if id.number != o.number || (id.content == nil) != (o.content == nil) {
		return false
	}
	if fold {
		return keyset.EqualFold(id.content, o.content)
	}
	return bytes.Equal(id.content, o.content)
}

// integer is one of int64 or uint64.
type integer struct {
	n        int64
	unsigned bool // it is uint64(n), above the largest int64
}

// integerAt reads the integer at pos, which is inside data whole. Specification, section "int format family".
func integerAt(data []byte, pos int) integer {
	b := data[pos]
	if b >= byteNegative || b < byteFixMap {
		return integer{n: int64(int8(b))}
	}
	width := whole[b] - 1
	u := bigEndian(data[pos+1:], width)
	if b < byteInt8 {
		return integer{n: int64(u), unsigned: u > math.MaxInt64}
	}
	unused := 64 - 8*uint(width)
	return integer{n: int64(u<<unused) >> unused}
}

// parseInteger reads text if it is an integer in its shortest decimal form. Unlike strconv it allocates nothing for what
// is none.
func parseInteger[T string | []byte](text T) (integer, bool) {
	if len(text) == 0 || len(text) > len("-9223372036854775808") || text[0] > '9' {
		return integer{}, false
	}
	digits, minus := text, text[0] == '-'
	if minus {
		digits = text[1:]
	}
	if len(digits) == 0 || digits[0] == '0' && (minus || len(digits) > 1) {
		return integer{}, false
	}
	var n uint64
	for i := range len(digits) {
		d := uint64(digits[i] - '0')
		if d > 9 || n > (math.MaxUint64-d)/10 {
			return integer{}, false
		}
		n = n*10 + d
	}
	if minus {
		return integer{n: -int64(n)}, n <= 1<<63
	}
	return integer{n: int64(n), unsigned: n > math.MaxInt64}, true
}

package cbor

import (
	"bytes"
	"math"
	"strconv"

	"example.com/ferry/field"
	"example.com/ferry/format/internal/keyset"
	"example.com/ferry/internal/cborhead"
)

// key is a map key of any form.
type key struct {
	head
	at, end int // where it lies, tags excluded
}

func readKey(data []byte, pos int) (key, error) {
	h, at, err := pastTags(data, pos)
	if err != nil {
		return key{}, err
	}
	end, err := skip(data, at, 1, 0)
	return key{head: h, at: at, end: end}, err
}

// is reports whether st asks for k.
func (k key) is(data []byte, st *field.Step) bool {
	switch {
	case k.Major == cborhead.Text && k.Info == cborhead.Indefinite:
		name := st.Name
		for pos := k.Next; ; {
			chunk, next, err := readChunk(data, pos, cborhead.Text)
			if err != nil || chunk == nil {
				return err == nil && name == ""
			}
			if len(chunk) > len(name) || string(chunk) != name[:len(chunk)] {
				return false
			}
			name, pos = name[len(chunk):], next
		}
	case k.Major == cborhead.Text:
		return string(data[k.Next:k.end]) == st.Name
	case k.Major > cborhead.Nint:
		return false
	case st.Index >= 0:
		return k.Major == cborhead.Uint && k.Arg == uint64(st.Index)
	}
	n, minus, ok := integer(st.Name)
	return ok && n == k.Arg && minus == (k.Major == cborhead.Nint)
}

// step is how Walk names k.
func (k key) step(data []byte) field.Step {
	st := field.Step{Index: -1, Key: -1}
	switch {
	case k.Major == cborhead.Text:
		st.Name = string(stringAt(data, k.head, k.end))
	case k.Major == cborhead.Uint && k.Arg <= math.MaxInt32:
		st.Index = int(k.Arg)
	case k.Major == cborhead.Uint:
		st.Name = strconv.FormatUint(k.Arg, 10)
	case k.Major == cborhead.Nint && k.Arg == math.MaxUint64:
		st.Name = leastInteger
	case k.Major == cborhead.Nint:
		st.Name = "-" + strconv.FormatUint(k.Arg+1, 10)
	}
	return st
}

// identity is what makes two keys the same one to some consumer: an integer, a whole float and a text of the same digits
// are, as languages and paths exist that do not tell them apart.
type identity struct {
	major   byte // majorUint or majorNint for all of these; else the item's own
	n       uint64
	content []byte
}

func (k key) identity(data []byte) identity {
	switch k.Major {
	case cborhead.Text:
		text := stringAt(data, k.head, k.end)
		if n, minus, ok := integer(text); ok {
			return number(n, minus)
		}
		return identity{major: cborhead.Text, content: text}
	case cborhead.Bytes:
		return identity{major: cborhead.Bytes, content: stringAt(data, k.head, k.end)}
	case cborhead.Simple:
		if k.Info < cborhead.Float16&31 {
			return identity{major: cborhead.Simple, n: k.Arg}
		}
		f := floatOf(k.head)
		if f != math.Trunc(f) || f < -1<<64 || f >= 1<<64 { // also for NaN
			return identity{major: cborhead.Simple, n: math.Float64bits(f)}
		}
		if f < 0 {
			return number(magnitude(-f)-1, true)
		}
		return number(magnitude(f), false)
	}
	return number(k.Arg, k.Major == cborhead.Nint)
}

// magnitude is f in 0..2^64 as an integer; 2^64 becomes 0, one more than the largest -1-n.
func magnitude(f float64) uint64 {
	if f >= 1<<64 {
		return 0
	}
	return uint64(f)
}

func number(n uint64, minus bool) identity {
	if minus {
		return identity{major: cborhead.Nint, n: n}
	}
	return identity{major: cborhead.Uint, n: n}
}

func (id identity) equal(o identity, fold bool) bool {
	if id.major != o.major || id.n != o.n {
		return false
	}
	if fold && id.major == cborhead.Text {
		return keyset.EqualFold(id.content, o.content)
	}
	return bytes.Equal(id.content, o.content)
}

// leastInteger is CBOR's: -2^64.
const leastInteger = "-18446744073709551616"

// integer reads text if it is an integer of CBOR's range in its shortest decimal form: n, or -1-n if minus.
func integer[T string | []byte](text T) (n uint64, minus, ok bool) {
	if len(text) == 0 || len(text) > len(leastInteger) || text[0] > '9' {
		return 0, false, false
	}
	digits := text
	if text[0] == '-' {
		minus, digits = true, text[1:]
	}
	if len(digits) == 0 || digits[0] == '0' && (minus || len(digits) > 1) {
		return 0, false, false
	}
	for i := range len(digits) {
		d := uint64(digits[i] - '0')
		if d > 9 {
			return 0, false, false
		}
		if n > (math.MaxUint64-d)/10 {
			return math.MaxUint64, minus, string(text) == leastInteger
		}
		n = n*10 + d
	}
	if minus {
		n--
	}
	return n, minus, true
}

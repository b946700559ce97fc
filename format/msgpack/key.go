package msgpack

import (
	"math"
	"strconv"

	"example.com/ferry/field"
	"example.com/ferry/format/internal/keyset"
)

// key is the key of a pair in a map. A key can be any item.
type key struct {
	head
	start, end int
}

func readKey(data []byte, pos int) (key, error) {
	h, err := readHead(data, pos)
	if err != nil {
		return key{}, err
	}
	end, err := skipItems(data, pos, 1)
	return key{head: h, start: pos, end: end}, err
}

// matches reports whether st names k.
func (k key) matches(data []byte, st *field.Step) bool {
	switch k.kind {
	case field.Text:
		return string(data[k.off:k.end]) == st.Name
	case field.Int:
		n, ok := parseInteger(st.Name)
		return ok && n == integerAt(data, k.start)
	}
	return false
}

// step returns k as the step that Walk reports.
func (k key) step(data []byte) field.Step {
	st := field.Step{Index: -1, Key: -1}
	switch k.kind {
	case field.Text:
		st.Name = string(data[k.off:k.end])
	case field.Int:
		n := integerAt(data, k.start)
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

// identity returns the value by which duplicate keys are found. k is a text or an integer.
func (k key) identity(data []byte) keyset.Identity {
	if k.kind == field.Int {
		n := integerAt(data, k.start)
		if n.n < 0 && !n.unsigned {
			return keyset.Identity{Class: keyset.Negative, N: ^uint64(n.n)}
		}
		return keyset.Identity{Class: keyset.Integer, N: uint64(n.n)}
	}
	text := data[k.off:k.end]
	if n, minus, ok := keyset.ParseInteger(text); ok {
		if minus {
			return keyset.Identity{Class: keyset.Negative, N: n}
		}
		return keyset.Identity{Class: keyset.Integer, N: n}
	}
	return keyset.Identity{Class: keyset.Text, Content: text}
}

// integer is an int64 or a uint64.
type integer struct {
	n        int64
	unsigned bool // the value is uint64(n), which exceeds the largest int64
}

// integerAt reads the integer at pos. data must hold all of it. Specification, section "int format family".
func integerAt(data []byte, pos int) integer {
	b := data[pos]
	if b >= byteNegative || b < byteFixMap {
		return integer{n: int64(int8(b))}
	}
	width := itemLengths[b] - 1
	u := bigEndian(data[pos+1:], width)
	if b < byteInt8 {
		return integer{n: int64(u), unsigned: u > math.MaxInt64}
	}
	unused := 64 - 8*uint(width)
	return integer{n: int64(u<<unused) >> unused}
}

// parseInteger parses a decimal integer in the range of int64 or uint64. The text must be its shortest form.
func parseInteger(text string) (integer, bool) {
	n, minus, ok := keyset.ParseInteger(text)
	if minus {
		return integer{n: ^int64(n)}, ok && n <= math.MaxInt64
	}
	return integer{n: int64(n), unsigned: n > math.MaxInt64}, ok
}

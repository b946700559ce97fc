package cbor

import (
	"math"
	"strconv"

	"example.com/ferry/field"
	"example.com/ferry/format/internal/keyset"
	"example.com/ferry/internal/cborhead"
)

// key is a map key of any type.
type key struct {
	head
	start, end int // offsets of the key in data, without its tags
}

func readKey(data []byte, pos int) (key, error) {
	h, at, err := skipTags(data, pos)
	if err != nil {
		return key{}, err
	}
	end, err := skipItems(data, at, 1, 0)
	return key{head: h, start: at, end: end}, err
}

// matches reports whether the step st selects the key k.
func (k key) matches(data []byte, st *field.Step) bool {
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
	n, minus, ok := keyset.ParseInteger(st.Name)
	return ok && n == k.Arg && minus == (k.Major == cborhead.Nint)
}

// step returns the step that Walk passes to visit for the key k.
func (k key) step(data []byte) field.Step {
	st := field.Step{Index: -1, Key: -1}
	switch {
	case k.Major == cborhead.Text:
		st.Name = string(stringContent(data, k.head, k.end))
	case k.Major == cborhead.Uint && k.Arg <= math.MaxInt32:
		st.Index = int(k.Arg)
	case k.Major == cborhead.Uint:
		st.Name = strconv.FormatUint(k.Arg, 10)
	case k.Major == cborhead.Nint && k.Arg == math.MaxUint64:
		st.Name = "-18446744073709551616" // the integer -2^64
	case k.Major == cborhead.Nint:
		st.Name = "-" + strconv.FormatUint(k.Arg+1, 10)
	}
	return st
}

// identity returns the identity of k. A float without a fraction has the identity of the integer with the same value.
func (k key) identity(data []byte) keyset.Identity {
	switch k.Major {
	case cborhead.Text:
		text := stringContent(data, k.head, k.end)
		if n, minus, ok := keyset.ParseInteger(text); ok {
			return integerIdentity(n, minus)
		}
		return keyset.Identity{Class: keyset.Text, Content: text}
	case cborhead.Bytes:
		return keyset.Identity{Class: keyset.Bytes, Content: stringContent(data, k.head, k.end)}
	case cborhead.Simple:
		if k.Info < cborhead.Float16&31 {
			return keyset.Identity{Class: keyset.Other, N: k.Arg}
		}
		f := floatOf(k.head)
		if f != math.Trunc(f) || f < -1<<64 || f >= 1<<64 { // NaN is not equal to its Trunc either
			return keyset.Identity{Class: keyset.Other, N: math.Float64bits(f)}
		}
		if f < 0 {
			return integerIdentity(uint64Magnitude(-f)-1, true)
		}
		return integerIdentity(uint64Magnitude(f), false)
	}
	return integerIdentity(k.Arg, k.Major == cborhead.Nint)
}

// uint64Magnitude converts f, a number from 0 to 2^64, to an integer. It returns 0 for 2^64, because the caller
// subtracts 1: -2^64 is then stored as 2^64-1.
func uint64Magnitude(f float64) uint64 {
	if f >= 1<<64 {
		return 0
	}
	return uint64(f)
}

func integerIdentity(n uint64, minus bool) keyset.Identity {
	if minus {
		return keyset.Identity{Class: keyset.Negative, N: n}
	}
	return keyset.Identity{Class: keyset.Integer, N: n}
}

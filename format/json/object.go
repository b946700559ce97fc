package json

import (
	"bytes"
	"fmt"
	"iter"

	"example.com/ferry/format/internal/keyset"
)

// object validates the members of the object whose content starts at start.
func (v *validator) object(start, depth int) (int, error) {
	seen := v.seen.Open()
	pos, n := start, 0
	for ; ; n++ {
		var passed int
		var err error
		if pos, passed, err = v.pass(&seen, pos, n == 0, depth); err != nil {
			return 0, err
		}
		n += passed
		if pos < len(v.data) && v.data[pos] == '}' {
			pos++
			break
		}
		m, err := v.member(pos, n == 0)
		if err != nil {
			return 0, err
		}
		if m.value == 0 {
			pos = m.next
			break
		}
		if v.strict {
			seen.Add(&v.seen, v.names.hash(m))
		}
		if pos, err = v.value(m.value, depth); err != nil {
			return 0, err
		}
	}
	if !v.seen.Close(&seen) {
		if off := keyset.Duplicate(n, pos-start, v.names.each(start), v.names.same); off >= 0 {
			return 0, v.twice(off)
		}
	}
	return pos, nil
}

// member is memberAt with the name validated, in one pass over it.
func (v *validator) member(pos int, first bool) (member, error) {
	pos, end, err := separator(v.data, pos, first, '}')
	if err != nil || end {
		return member{next: pos}, err
	}
	if v.data[pos] != '"' {
		return member{}, unexpected(v.data, pos, "a name in quotes")
	}
	m := member{key: pos + 1}
	if m.keyEnd, err = v.text(m.key); err != nil {
		return m, err
	}
	m.escaped = v.strict && bytes.IndexByte(v.data[m.key:m.keyEnd], '\\') >= 0
	m.value, err = pastColon(v.data, m.keyEnd+1)
	return m, err
}

func (v *validator) twice(quote int) error {
	return syntax(quote, fmt.Sprintf("name %q stands twice in one object", v.names.at(quote)))
}

// names reads the names of valid objects of data.
type names struct {
	data []byte
	fold bool
}

func (ns names) hash(m member) uint64 {
	h, _ := keyset.Hash(m.name(ns.data), ns.fold)
	return h
}

// at returns the name whose opening quote is at quote.
func (ns names) at(quote int) []byte {
	end, escaped, err := quoted(ns.data, quote+1)
	if err != nil {
		return nil
	}
	return member{key: quote + 1, keyEnd: end, escaped: escaped}.name(ns.data)
}

// same compares the names whose opening quotes are at a and b.
func (ns names) same(a, b int) bool {
	if ns.fold {
		return keyset.EqualFold(ns.at(a), ns.at(b))
	}
	return bytes.Equal(ns.at(a), ns.at(b))
}

// each yields the offset of the opening quote and the hash of each name of the object whose content starts at start.
func (ns names) each(start int) iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		pos := start
		for first := true; ; first = false {
			m, err := memberAt(ns.data, pos, first)
			if err != nil || m.value == 0 || !yield(m.key-1, ns.hash(m)) {
				return
			}
			if pos, err = skip(ns.data, m.value); err != nil {
				return
			}
		}
	}
}

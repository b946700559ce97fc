package json

import (
	"bytes"
	"fmt"
	"iter"

	"example.com/ferry/format/internal/keyset"
)

// validateObject validates the members of an object and returns the offset after the object. The members begin at
// start.
func (v *validator) validateObject(start, depth int) (int, error) {
	seen := v.seen.Open()
	pos, n := start, 0
	for ; ; n++ {
		var passed int
		var err error
		if pos, passed, err = v.validateFast(&seen, pos, n == 0, depth); err != nil {
			return 0, err
		}
		n += passed
		if pos < len(v.data) && v.data[pos] == '}' {
			pos++
			break
		}
		m, err := v.validateMember(pos, n == 0)
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
		if pos, err = v.validateValue(m.value, depth); err != nil {
			return 0, err
		}
	}
	if !v.seen.Close(&seen) {
		if off := keyset.Duplicate(n, pos-start, v.names.offsetsAndHashes(start), v.names.equalNames); off >= 0 {
			return 0, v.duplicateNameError(off)
		}
	}
	return pos, nil
}

// validateMember reads a member as readMember does, and validates the name in the same pass.
func (v *validator) validateMember(pos int, first bool) (member, error) {
	pos, end, err := readSeparator(v.data, pos, first, '}')
	if err != nil || end {
		return member{next: pos}, err
	}
	if v.data[pos] != '"' {
		return member{}, unexpectedByte(v.data, pos, "a name in quotes")
	}
	m := member{key: pos + 1}
	if m.keyEnd, err = v.validateText(m.key); err != nil {
		return m, err
	}
	m.escaped = v.strict && bytes.IndexByte(v.data[m.key:m.keyEnd], '\\') >= 0
	m.value, err = skipColon(v.data, m.keyEnd+1)
	return m, err
}

func (v *validator) duplicateNameError(quote int) error {
	return syntaxError(quote, fmt.Sprintf("name %q stands twice in one object", v.names.nameAt(quote)))
}

// objectNames reads the names of valid objects. A name is identified by the offset of its opening quote.
type objectNames struct {
	data []byte
	fold bool
}

func (ns objectNames) hash(m member) uint64 {
	h, _ := keyset.Hash(m.name(ns.data), ns.fold)
	return h
}

// nameAt returns the unescaped name whose opening quote is at offset quote.
func (ns objectNames) nameAt(quote int) []byte {
	end, escaped, err := skipString(ns.data, quote+1)
	if err != nil {
		return nil
	}
	return member{key: quote + 1, keyEnd: end, escaped: escaped}.name(ns.data)
}

// equalNames reports whether two names are equal. a and b are the offsets of their opening quotes.
func (ns objectNames) equalNames(a, b int) bool {
	if ns.fold {
		return keyset.EqualFold(ns.nameAt(a), ns.nameAt(b))
	}
	return bytes.Equal(ns.nameAt(a), ns.nameAt(b))
}

// offsetsAndHashes yields the offset of the opening quote and the hash of each name in an object. The members begin at
// start.
func (ns objectNames) offsetsAndHashes(start int) iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		pos := start
		for first := true; ; first = false {
			m, err := readMember(ns.data, pos, first)
			if err != nil || m.value == 0 || !yield(m.key-1, ns.hash(m)) {
				return
			}
			if pos, err = skipValue(ns.data, m.value); err != nil {
				return
			}
		}
	}
}

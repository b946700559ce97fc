package json

import "example.com/ferry/format/internal/keyset"

// validateFast validates members from pos on while their names are plain. pos is behind the opening brace if first,
// else behind a value. It returns the offset behind the last value validated, and how many members it validated. Nearly
// all members are validated here, scalars nearly without calls, so pos stays in a register.
func (v *validator) validateFast(seen *keyset.Map, pos int, first bool, depth int) (next, n int, err error) {
	data := v.data
	for ; ; n++ {
		at := pos
		if !first || n > 0 {
			if uint(at) >= uint(len(data)) || data[at] != ',' {
				return pos, n, nil
			}
			at++
		}
		if uint(at) < uint(len(data)) && data[at] <= ' ' {
			at = skipSpace(data, at)
		}
		name := at + 1
		if name > len(data)-16 || data[at] != '"' {
			return pos, n, nil
		}
		if at = name + countPlain(data[name:]); at == name+16 {
			at = plainEnd(data, at)
		}
		if uint(at+1) >= uint(len(data)) || data[at] != '"' || data[at+1] != ':' {
			return pos, n, nil
		}
		if v.strict {
			hash, _ := keyset.Hash(data[name:at], v.names.fold)
			seen.Add(&v.seen, hash)
		}
		at += 2
		if uint(at) < uint(len(data)) && data[at] <= ' ' {
			at = skipSpace(data, at)
		}
		pos = at + 1
		if pos <= len(data)-16 && data[at] == '"' {
			if pos += countPlain(data[pos:]); pos == at+17 {
				pos = plainEnd(data, pos)
			}
			if uint(pos) < uint(len(data)) && data[pos] == '"' {
				pos++
				continue
			}
		}
		if pos, err = v.validateValue(at, depth); err != nil {
			return 0, 0, err
		}
	}
}

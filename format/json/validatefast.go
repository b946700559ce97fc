package json

import "example.com/ferry/format/internal/keyset"

// validateFast validates members whose names are plain, starting at pos. If first is set, pos is after the opening
// brace, otherwise after a value. It returns the offset after the last validated value, and the number of validated
// members. Nearly all members are validated here. Scalars need few function calls, so that pos stays in a register.
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

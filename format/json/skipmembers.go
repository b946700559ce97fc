package json

import "example.com/ferry/field"

// shortText is how long a text is that pass looks at byte by byte: up to there branches, which are predicted, beat words,
// each of which waits for the position that the last one gave.
const shortText = 32

// skipMembers goes over members from pos on, which is behind the opening brace or, if not first, behind a value, and returns
// where it stopped: behind the last value passed. It stops at a member whose name may be wanted, by its field.NameBit, and
// leaves all that is not short and plain to its caller; key and end are where the name lies there if it is read already and
// has no escapes, else 0. Nearly all of a message is passed here, without a call: the position stays in a register.
func skipMembers(data []byte, pos int, first bool, names uint64) (stop, key, end int) {
	for {
		at := pos
		if !first {
			if uint(at) >= uint(len(data)) || data[at] != ',' {
				return pos, 0, 0
			}
			at++
		}
		first = false
		if uint(at) < uint(len(data)) && data[at] <= ' ' {
			at = skipSpace(data, at)
		}
		if uint(at) >= uint(len(data)) || data[at] != '"' {
			return pos, 0, 0
		}
		at++
		name := at
		for uint(at) < uint(len(data)) && data[at] != '"' {
			if data[at] == '\\' {
				return pos, 0, 0
			}
			at++
		}
		if uint(at) >= uint(len(data)) {
			return pos, 0, 0
		}
		quote := at
		if names>>field.NameBit(at-name, data[name+(at-name)/2], data[at-1])&1 != 0 {
			return pos, name, quote
		}
		at++
		if uint(at) >= uint(len(data)) || data[at] != ':' {
			return pos, name, quote
		}
		at++
		if uint(at) < uint(len(data)) && data[at] <= ' ' {
			at = skipSpace(data, at)
		}
		if uint(at) >= uint(len(data)) {
			return pos, name, quote
		}
		if data[at] == '"' {
			at++
			for limit := at + shortText; uint(at) < uint(len(data)) && data[at] != '"'; at++ {
				if data[at] == '\\' || at == limit {
					return pos, name, quote
				}
			}
			if at++; at > len(data) {
				return pos, name, quote
			}
		} else {
			value := at
			for uint(at) < uint(len(data)) && data[at]-'-' <= '9'-'-' { // most numbers as a whole
				at++
			}
			for uint(at) < uint(len(data)) && class[data[at]] == inside {
				at++
			}
			if at == value {
				return pos, name, quote
			}
		}
		pos = at
	}
}

package json

import "example.com/ferry/field"

// shortText is the length up to which skipMembers reads a text byte by byte. Up to there predicted branches beat words,
// because each word load waits for the position of the one before.
const shortText = 32

// skipMembers skips members from pos on, which is behind the opening brace if first, else behind a value. It returns
// the offset behind the last value skipped. It stops at a member whose name is in names, a set of field.NameBit, and at
// a name or value that is long or not plain. If the name there is read and has no escapes, key and end are its offsets,
// else 0. Nearly all members are skipped here without a call, so pos stays in a register.
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
			for uint(at) < uint(len(data)) && data[at]-'-' <= '9'-'-' { // consumes most numbers completely
				at++
			}
			for uint(at) < uint(len(data)) && byteClass[data[at]] == partOfToken {
				at++
			}
			if at == value {
				return pos, name, quote
			}
		}
		pos = at
	}
}

package json

import "example.com/ferry/field"

// maxByteLoopText is the length in bytes up to which skipMembers reads a text byte by byte. For short texts predicted
// branches are faster than word loads, because the address of each word depends on the previous word.
const maxByteLoopText = 32

// skipMembers skips members, starting at pos. If first is set, pos is after the opening brace, otherwise after a value.
// It stops at a member whose name is in names, a set of field.NameBit. It also stops at a member with an escape, a long
// text or a container. stop is the offset after the last skipped value. If skipMembers has read the name of the next
// member, key and end are the offsets of this name, otherwise 0. Nearly all members are skipped here without a function
// call, so that pos stays in a register.
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
			for limit := at + maxByteLoopText; uint(at) < uint(len(data)) && data[at] != '"'; at++ {
				if data[at] == '\\' || at == limit {
					return pos, name, quote
				}
			}
			if at++; at > len(data) {
				return pos, name, quote
			}
		} else {
			value := at
			for uint(at) < uint(len(data)) && data[at]-'-' <= '9'-'-' { // this loop consumes most numbers completely
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

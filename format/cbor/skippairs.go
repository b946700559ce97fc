package cbor

import (
	"example.com/ferry/field"
	"example.com/ferry/internal/cborhead"
)

// skipPairs goes over pairs from pos on as long as their key is short and not wanted, by the names and indices of a
// field.KeyFilter, and their value is short. It returns where it stopped and how many pairs are left. Nearly all of a message
// is passed here, and without a call: the position stays in a register. The lengths of values come from a table, not from
// branches: for messages of one shape branches would be faster, but with keys in any order they are mispredicted, which
// costs more than twice the time.
func skipPairs(data []byte, pos int, left, names, indices uint64) (int, uint64) {
	for ; left != 0; left-- {
		at := pos
		if uint(pos) >= uint(len(data)) {
			return at, left
		}
		switch b := data[pos]; {
		case b-cborhead.Text<<5 < 24:
			size := int(b - cborhead.Text<<5)
			key := pos + 1
			if pos = key + size; uint(pos) >= uint(len(data)) || names>>field.NameBit(size, data[key+size/2], data[pos-1])&1 != 0 {
				return at, left
			}
		case b < 24:
			if indices>>b&1 != 0 {
				return at, left
			}
			pos++
		case b == 24 && pos+1 < len(data):
			if indices>>(data[pos+1]&63)&1 != 0 {
				return at, left
			}
			pos += 2
		default:
			return at, left
		}
		if uint(pos) >= uint(len(data)) {
			return at, left
		}
		size := int(itemLengths[data[pos]])
		if size == 0 {
			if data[pos]|0x20 != cborhead.Text<<5|24 || pos+1 >= len(data) {
				return at, left
			}
			size = 2 + int(data[pos+1])
		}
		pos += size
	}
	return pos, left
}

package cbor

import (
	"example.com/ferry/field"
	"example.com/ferry/internal/cborhead"
)

// skipPairs skips pairs from pos on while their key is short and not in names and indices, the sets of a
// field.KeyFilter, and their value is short. It returns the offset where it stopped and how many pairs are left. Nearly
// all pairs are skipped here without a call, so pos stays in a register. The lengths of values come from a table.
// Branches would be faster for messages of one shape, but with keys in any order they are mispredicted, which more than
// doubles the time.
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

package cbor

import (
	"example.com/ferry/field"
	"example.com/ferry/internal/cborhead"
)

// skipPairs skips short pairs, starting at pos. It stops at a long key or value, and at a key that is in names or
// indices, the sets of a field.KeyFilter. It returns the offset where it stopped and how many pairs are left. Nearly
// all pairs are skipped here without a function call, so that pos stays in a register. The lengths of values are read
// from a table. Branches would be faster if all messages had the same shape. With keys in any order branches are
// mispredicted, and the search takes more than twice as long.
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
		size := int(lengthByInitialByte[data[pos]])
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

package msgpack

import "example.com/ferry/field"

// skipPairs skips pairs from pos on while their key is a short text that is not in names, a set of field.NameBit, and
// the first bytes of their value determine its length. It returns the offset where it stopped and how many pairs are
// left. Nearly all pairs are skipped here without a call, so pos stays in a register.
func skipPairs(data []byte, pos int, left uint64, names uint64) (int, uint64) {
	for ; left != 0; left-- {
		at := pos
		if uint(pos) >= uint(len(data)) {
			return at, left
		}
		size := int(data[pos]) - byteFixStr
		if uint(size) >= 32 {
			return at, left
		}
		name := pos + 1
		pos = name + size
		if uint(pos) >= uint(len(data)) || names>>field.NameBit(size, data[name+size/2], data[pos-1])&1 != 0 {
			return at, left
		}
		n := shortItemLength(data, pos)
		if n == 0 {
			return at, left
		}
		pos += n
	}
	return pos, left
}

package msgpack

import "example.com/ferry/field"

// skipPairs skips pairs from pos on. It stops at the first pair with a key that is not a short text or may be one of
// names, or with a value whose length is not in its first bytes. names is a set of field.NameBit. The results are the
// offset of that pair and the number of pairs left. This loop skips nearly all pairs. It contains no calls, so pos
// stays in a register.
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

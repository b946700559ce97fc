package cbor

import "example.com/ferry/field"

// pass goes over pairs from pos on as long as their key is short and not wanted and their value is short, and returns
// where it stopped and how many pairs are left. Nearly all of a message is passed here, and without a call: the position
// stays in a register.
func pass(data []byte, pos int, left uint64, wanted *field.Sieve) (int, uint64) {
	names, indices := wanted.Names, wanted.Indices
	for ; left != 0; left-- {
		at := pos
		if uint(pos) >= uint(len(data)) {
			return at, left
		}
		b := data[pos]
		switch size := b - majorText<<5; {
		case size < 24:
			key := pos + 1
			if pos = key + int(size); uint(pos) >= uint(len(data)) || names>>field.NameBit(int(size), data[key+int(size/2)], data[pos-1])&1 != 0 {
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
		size := short(data, pos)
		if size == 0 {
			return at, left
		}
		pos += size
	}
	return pos, left
}

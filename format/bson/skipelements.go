package bson

import (
	"encoding/binary"

	"example.com/ferry/field"
)

// skipElements skips up to left elements of c, starting at pos. It stops at a key that is in names, a set of
// field.NameBit. It also stops at a value whose size depends on more than its type or the length of a text. stop is the
// offset where it stopped, remaining is the number of elements that it has not skipped. If it stopped at a key in
// names, value is the offset of the element's value, otherwise 0. The caller handles the end of the container and of
// the data. Nearly all elements are skipped here without a function call, so that pos stays in a register. Keys are
// read byte by byte, because the processor can predict the branches before the bytes are loaded.
func skipElements(data []byte, pos int, c container, left int, names uint64) (stop, value, remaining int) {
	data = data[:min(c.end, len(data))]
	for ; left != 0; left-- {
		at := pos
		if uint(pos) >= uint(len(data)) {
			return at, 0, left
		}
		n := int(sizeByType[data[pos]])
		pos++
		key := pos
		for uint(pos) < uint(len(data)) && data[pos] != 0 {
			pos++
		}
		if uint(pos) >= uint(len(data)) {
			return at, 0, left
		}
		if size := pos - key; names>>field.NameBit(size, data[key+size/2], data[pos-1])&1 != 0 {
			if data[at] == 0 { // a NUL is not the type of an element
				return at, 0, left
			}
			return at, pos + 1, left
		}
		pos++
		if n == variableSize {
			if data[at] != typeString || pos > len(data)-4 {
				return at, 0, left
			}
			n = int(int32(binary.LittleEndian.Uint32(data[pos:])))
			if n < 1 {
				return at, 0, left
			}
			pos += 4 // n += 4 could overflow an int of 32 bits
		}
		if n > len(data)-pos {
			return at, 0, left
		}
		pos += n
	}
	return pos, 0, left
}

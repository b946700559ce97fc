package bson

import (
	"encoding/binary"

	"example.com/ferry/field"
)

// skipElements skips elements of c from pos on while their key is not in names, a set of field.NameBit, and their size
// is known from the type or a text's length. It returns the offset where it stopped and how many of the left elements
// remain. If the key there is in names, value is the offset of the element's value, else 0. The caller handles the end
// of the container and of the data. Nearly all elements are skipped here without a call, so pos stays in a register.
// Keys are read byte by byte, because predicted branches do not wait for the bytes.
func skipElements(data []byte, pos int, c container, left int, names uint64) (at, value, still int) {
	data = data[:min(c.end, len(data))]
	for ; left != 0; left-- {
		at := pos
		if uint(pos) >= uint(len(data)) {
			return at, 0, left
		}
		n := int(widths[data[pos]])
		pos++
		key := pos
		for uint(pos) < uint(len(data)) && data[pos] != 0 {
			pos++
		}
		if uint(pos) >= uint(len(data)) {
			return at, 0, left
		}
		if size := pos - key; names>>field.NameBit(size, data[key+size/2], data[pos-1])&1 != 0 {
			if data[at] == 0 { // not an element
				return at, 0, left
			}
			return at, pos + 1, left
		}
		pos++
		if n == variableWidth {
			if data[at] != typeString || pos > len(data)-4 {
				return at, 0, left
			}
			n = int(int32(binary.LittleEndian.Uint32(data[pos:])))
			if n < 1 {
				return at, 0, left
			}
			pos += 4 // not n += 4, which may exceed an int of 32 bits
		}
		if n > len(data)-pos {
			return at, 0, left
		}
		pos += n
	}
	return pos, 0, left
}

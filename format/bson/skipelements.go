package bson

import (
	"encoding/binary"

	"example.com/ferry/field"
)

// skipElements goes over elements of c from pos on as long as their key is not wanted, by its field.NameBit, and their type or a
// text's length tells where they end. It returns where it stopped, where the value of the element there starts if its key
// is wanted, else 0, and how many elements are left of the given number. The end of the container and of the data are left
// to its caller. Nearly all of a message is passed here, and without a call: the position stays in a register. A key is
// looked at byte by byte, as branches that are predicted do not wait for it.
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
			if data[at] == 0 { // no element
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

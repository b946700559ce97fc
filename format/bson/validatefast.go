package bson

import (
	"encoding/binary"

	"example.com/ferry/format/internal/keyset"
	"example.com/ferry/format/internal/utf8check"
)

// validateFast validates elements of a common form in the document c, starting at pos. Such an element has an ASCII
// key. Its value is an ASCII text, or has a fixed size and a type in which all bytes are valid. It returns the offset
// of the first element of another form, and the number of validated elements. Nearly all elements are validated here,
// with few function calls.
func (v *validator) validateFast(seen *keyset.Map, pos int, c container) (next, n int) {
	data := v.data[:c.end]
	for ; ; n++ {
		at := pos
		if uint(at) >= uint(len(data)) {
			return at, n
		}
		typ := data[at]
		pos++
		key := pos
		for uint(pos) < uint(len(data)) && data[pos] != 0 {
			pos++
		}
		if uint(pos) >= uint(len(data)) {
			return at, n
		}
		name := data[key:pos]
		pos++
		size := int(sizeByType[typ])
		switch {
		case typ == typeString:
			if pos > len(data)-4 {
				return at, n
			}
			size = 4 + int(int32(binary.LittleEndian.Uint32(data[pos:])))
			if size < 5 || size > len(data)-pos || data[pos+size-1] != 0 || !utf8check.ASCII(data[pos+4:pos+size-1]) {
				return at, n
			}
		case size == variableSize || size > len(data)-pos || typ == typeBool:
			return at, n
		}
		if v.strict {
			hash, ascii := keyset.Hash(name, v.keys.fold)
			if !ascii {
				return at, n
			}
			seen.Add(&v.seen, hash)
		}
		pos += size
	}
}

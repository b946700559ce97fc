package bson

import (
	"encoding/binary"

	"example.com/ferry/format/internal/keyset"
	"example.com/ferry/format/internal/utf8check"
)

// validateFast validates elements of the document c from pos on while they have a common form: a key of ASCII, and
// either a text of ASCII or a value of fixed size in which all bytes are valid. It returns the offset of the first
// other element, and how many it validated. Nearly all elements are validated here, nearly without calls.
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
		size := int(widths[typ])
		switch {
		case typ == typeString:
			if pos > len(data)-4 {
				return at, n
			}
			size = 4 + int(int32(binary.LittleEndian.Uint32(data[pos:])))
			if size < 5 || size > len(data)-pos || data[pos+size-1] != 0 || !utf8check.ASCII(data[pos+4:pos+size-1]) {
				return at, n
			}
		case size == variableWidth || size > len(data)-pos || typ == typeBool:
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

package msgpack

import (
	"example.com/ferry/field"
	"example.com/ferry/format/internal/keyset"
	"example.com/ferry/format/internal/utf8check"
)

// validateFast validates pairs from pos on while they have a common form: a short key of ASCII that is not an integer,
// and a scalar. n pairs are validated already. It returns the offset of the first other pair, and how many are
// validated then. Nearly all pairs are validated here, nearly without calls.
func (v *validator) validateFast(seen *keyset.Map, pos int, n, all uint64) (int, uint64) {
	data := v.data
	for ; n < all; n++ {
		if uint(pos) >= uint(len(data)) {
			break
		}
		size := int(data[pos]) - byteFixStr
		end := pos + 1 + size
		if size <= 0 || size >= 32 || end >= len(data) || data[pos+1] <= '9' {
			break
		}
		next := end + shortItemLength(data, end)
		if next == end || next > len(data) {
			break
		}
		switch f := headFamilies[data[end]]; f.kind {
		case field.Text:
			if !utf8check.ASCII(data[end+int(f.head) : next]) {
				return pos, n
			}
		case field.Extension, field.Map, field.List:
			return pos, n
		}
		hash, ascii := keyset.Hash(data[pos+1:end], v.keys.Fold)
		if !ascii {
			break
		}
		seen.Add(&v.seen, hash)
		pos = next
	}
	return pos, n
}

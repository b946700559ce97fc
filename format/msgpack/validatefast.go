package msgpack

import (
	"example.com/ferry/field"
	"example.com/ferry/format/internal/keyset"
	"example.com/ferry/format/internal/utf8check"
)

// validateFast validates pairs of a common form, from pos on: the key is a short ASCII text and not an integer, the
// value is a scalar. It stops at the first other pair. n is the number of pairs validated before the call; all is the
// map's number of pairs. The results are the offset of the first other pair and the new n. This loop validates nearly
// all pairs, with few calls.
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

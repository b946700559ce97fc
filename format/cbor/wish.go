package cbor

import "example.com/ferry/field"

// wish tells most keys that are not wanted by a byte or two of them.
type wish struct {
	sizes uint32 // bit n: a text of n bytes is wanted
	lasts uint64 // bit n: a text whose last byte is n modulo 64 is wanted
	ints  uint64 // bit n: an integer that is n modulo 64 is wanted
}

func (w *wish) add(st *field.Step) {
	w.sizes |= 1 << (uint(len(st.Name)) & 31)
	if st.Name != "" {
		w.lasts |= 1 << (st.Name[len(st.Name)-1] & 63)
	}
	if st.Index >= 0 {
		w.ints |= 1 << (uint(st.Index) & 63)
	}
}

// pass goes over pairs from pos on as long as their key is short and not wanted and their value is short, and returns
// where it stopped and how many pairs are left. Nearly all of a message is passed here, and without a call: the position
// stays in a register.
func (w wish) pass(data []byte, pos int, left uint64) (int, uint64) {
	for ; left != 0; left-- {
		at := pos
		if uint(pos) >= uint(len(data)) {
			return at, left
		}
		b := data[pos]
		switch size := b - majorText<<5; {
		case size < 24:
			pos += 1 + int(size)
			if w.sizes>>size&1 != 0 && (pos > len(data) || w.lasts>>(data[pos-1]&63)&1 != 0) {
				return at, left
			}
		case b < 24:
			if w.ints>>b&1 != 0 {
				return at, left
			}
			pos++
		case b == 24 && pos+1 < len(data):
			if w.ints>>(data[pos+1]&63)&1 != 0 {
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

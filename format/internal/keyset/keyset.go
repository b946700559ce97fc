package keyset

import "iter"

const (
	room     = 64      // keys of all open maps together that a Stack holds
	offsets  = 1 << 40 // an entry is 24 bits of hash above an offset of 40
	hashPart = ^uint64(offsets - 1)
)

// Stack is the keys of the maps that are open at one moment. The zero value is ready, and meant to be a local variable.
type Stack struct {
	entry [room]uint64
	n     int
}

// Map is one open map.
type Map struct {
	bloom [4]uint64 // of the hashes seen: most keys that are new are told by one look
	base  int
	full  bool
}

// Open begins a map inside the ones that are open.
func (s *Stack) Open() Map { return Map{base: s.n} }

// Close ends m and reports whether all its keys were compared; otherwise the caller asks Duplicate.
func (s *Stack) Close(m *Map) bool {
	s.n = m.base
	return !m.full
}

// New adds the key with hash h at offset off if it is surely new; otherwise the caller asks Seen.
func (m *Map) New(s *Stack, h uint64, off int) bool {
	word, bit := h>>62, uint64(1)<<(h>>56&63)
	if m.bloom[word]&bit != 0 || s.n >= room {
		return false
	}
	m.bloom[word] |= bit
	s.entry[s.n] = h&hashPart | uint64(off)&(offsets-1)
	s.n++
	return true
}

// Seen adds the key with hash h at offset off, and reports whether same finds it equal to an earlier key of m.
func (m *Map) Seen(s *Stack, h uint64, off int, same func(a, b int) bool) bool {
	word, bit := h>>62, uint64(1)<<(h>>56&63)
	e := h&hashPart | uint64(off)&(offsets-1)
	if m.bloom[word]&bit != 0 {
		for _, other := range s.entry[m.base:s.n] {
			if (other^e)&hashPart == 0 && same(int(other&(offsets-1)), off) {
				return true
			}
		}
	}
	m.bloom[word] |= bit
	if s.n == room {
		m.full = true
		return false
	}
	s.entry[s.n] = e
	s.n++
	return false
}

// Duplicate returns the offset of the first key found that stands twice in a map of n keys that takes size bytes, or -1.
// keys yields offset and hash of each key, the same ones each time. What is allocated is at most half of size.
func Duplicate(n, size int, keys iter.Seq2[int, uint64], same func(a, b int) bool) int {
	var few [256]uint64
	table := few[:]
	slots := len(table)
	for slots < 2*n && slots*2*8 <= size/2 {
		slots *= 2
	}
	if slots > len(table) {
		table = make([]uint64, slots)
	}
	// A table that is too small for all keys takes a share of the hashes at a time.
	for shares := 1 + 2*n/slots; ; shares *= 2 {
		off, ok := -1, true
		for share := 0; share < shares && off < 0 && ok; share++ {
			off, ok = search(table, uint64(share), uint64(shares), keys, same)
		}
		if ok {
			return off
		}
	}
}

// search looks among the keys of one share. It gives up with false when the table is three quarters full.
func search(table []uint64, share, shares uint64, keys iter.Seq2[int, uint64], same func(a, b int) bool) (int, bool) {
	clear(table)
	mask, left := uint64(len(table)-1), len(table)*3/4
	for off, h := range keys {
		if h>>32*shares>>32 != share {
			continue
		}
		e := h&hashPart | uint64(off+1)&(offsets-1)
		i := h & mask
		for ; table[i] != 0; i = (i + 1) & mask {
			if (table[i]^e)&hashPart == 0 && same(int(table[i]&(offsets-1))-1, off) {
				return off, true
			}
		}
		if left--; left < 0 {
			return -1, false
		}
		table[i] = e
	}
	return -1, true
}

package keyset

import "iter"

const (
	maxKeys     = 64      // capacity of a Stack: keys of all open maps together
	offsetLimit = 1 << 40 // an entry of Duplicate's table has 24 bits of hash above 40 bits of offset
	hashMask    = ^uint64(offsetLimit - 1)
)

// Stack holds 32 bits of the hash of each key of the open maps. The zero value is ready. It is meant to be a local
// variable.
type Stack struct {
	entry [maxKeys]uint32
	n     int
}

// Map is the key set of one open map.
type Map struct {
	bloom     [4]uint64 // a Bloom filter of the hashes: one look shows that most new keys are new
	base      int
	undecided bool
}

// Open starts a map inside the open ones.
func (s *Stack) Open() Map { return Map{base: s.n} }

// Close ends m. It reports whether all keys are different; if it returns false, Duplicate must decide.
func (s *Stack) Close(m *Map) bool {
	s.n = m.base
	return !m.undecided
}

// Add adds the key with hash h.
func (m *Map) Add(s *Stack, h uint64) {
	word, bit := h>>62, uint64(1)<<(h>>56&63)
	if m.bloom[word]&bit != 0 || s.n == maxKeys {
		m.compare(s, h)
		return
	}
	m.bloom[word] |= bit
	s.entry[s.n&(maxKeys-1)] = uint32(h)
	s.n++
}

// compare is Add for a key that the Bloom filter does not prove new.
func (m *Map) compare(s *Stack, h uint64) {
	if s.n == maxKeys {
		m.undecided = true
		return
	}
	for _, other := range s.entry[m.base:s.n] {
		m.undecided = m.undecided || other == uint32(h)
	}
	s.entry[s.n] = uint32(h)
	s.n++
}

// Duplicate returns the offset of a key that occurs twice in a map of n keys and size bytes, or -1. keys yields the
// offset and hash of each key, the same ones on each call. Duplicate allocates at most half of size.
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
	// A table that is too small for all keys is used several times, each time for a share of the hashes.
	for shares := 1 + 2*n/slots; ; shares *= 2 {
		off, ok := -1, true
		for share := 0; share < shares && off < 0 && ok; share++ {
			off, ok = searchShare(table, uint64(share), uint64(shares), keys, same)
		}
		if ok {
			return off
		}
	}
}

// searchShare searches the keys of one share. It returns false once the table is three quarters full.
func searchShare(table []uint64, share, shares uint64, keys iter.Seq2[int, uint64], same func(a, b int) bool) (int, bool) {
	clear(table)
	mask, left := uint64(len(table)-1), len(table)*3/4
	for off, h := range keys {
		if h>>32*shares>>32 != share {
			continue
		}
		e := h&hashMask | uint64(off+1)&(offsetLimit-1)
		i := h & mask
		for ; table[i] != 0; i = (i + 1) & mask {
			if (table[i]^e)&hashMask == 0 && same(int(table[i]&(offsetLimit-1))-1, off) {
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

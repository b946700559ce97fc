package keyset

import "iter"

const (
	maxKeys     = 64      // maximum number of keys in a Stack: the sum over all open maps
	offsetLimit = 1 << 40 // a table entry in Duplicate is 24 bits of the hash and 40 bits of the offset
	hashMask    = ^uint64(offsetLimit - 1)
)

// Stack holds 32 bits of the hash of each key of the open maps. The zero value is ready for use. Declare a Stack as a
// local variable.
type Stack struct {
	hashes [maxKeys]uint32
	n      int
}

// Map is the key set of one open map.
type Map struct {
	bloom     [4]uint64 // Bloom filter of the hashes; proves for most keys that they are new without a comparison
	base      int
	undecided bool
}

// Open starts the key set of a map that lies inside all open maps.
func (s *Stack) Open() Map { return Map{base: s.n} }

// Close ends m and reports whether all keys are known to be different. If it returns false, the caller must call
// Duplicate.
func (s *Stack) Close(m *Map) bool {
	s.n = m.base
	return !m.undecided
}

// Add adds a key by its hash h.
func (m *Map) Add(s *Stack, h uint64) {
	word, bit := h>>62, uint64(1)<<(h>>56&63)
	if m.bloom[word]&bit != 0 || s.n == maxKeys {
		m.compare(s, h)
		return
	}
	m.bloom[word] |= bit
	s.hashes[s.n&(maxKeys-1)] = uint32(h)
	s.n++
}

// compare is Add for the less common cases: the Bloom filter does not prove that the key is new, or the Stack is full.
func (m *Map) compare(s *Stack, h uint64) {
	if s.n == maxKeys {
		m.undecided = true
		return
	}
	for _, other := range s.hashes[m.base:s.n] {
		m.undecided = m.undecided || other == uint32(h)
	}
	s.hashes[s.n] = uint32(h)
	s.n++
}

// Duplicate returns the offset of a key that occurs twice in a map, or -1. The map has n keys and size bytes. keys
// yields the offset and hash of each key, and must yield the same pairs on each call. Duplicate allocates at most
// size/2 bytes.
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
	// If the table is too small for all keys, it is filled several times, each time with the keys of one share of the
	// hashes.
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

// searchShare searches for a duplicate among the keys of one share. ok is false if the table became three quarters
// full.
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

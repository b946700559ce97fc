package keyset

import (
	"iter"
	"slices"
	"sync"
)

const (
	inlineKeys  = 64      // number of keys that a Stack holds itself; further keys are on the heap
	maxRetained = 4096    // largest heap slice in keys that is kept for the next message
	offsetLimit = 1 << 40 // a table entry in Duplicate is 24 bits of the hash and 40 bits of the offset
	hashMask    = ^uint64(offsetLimit - 1)
)

// Stack holds the hashes of the keys of all open maps. The keys of a map that finds no room in the Stack itself are
// moved to a slice on the heap, so that no map has to be read again only because other maps are open. The zero value is
// ready for use. Declare a Stack as a local variable.
type Stack struct {
	hashes [inlineKeys]uint32 // the low half of each hash, because more bytes would take longer to clear
	n      int
	heap   *[]uint64 // hashes with the bit wholeHash, or low halves that come from hashes
}

// wholeHash is set in all hashes on the heap except low halves.
const wholeHash = 1 << 32

// heaps holds slices for Stack.heap. Close returns the slice after the last map with keys in it.
var heaps = sync.Pool{New: func() any { return new([]uint64) }}

// Map is the key set of one open map.
type Map struct {
	bloom     [4]uint64 // Bloom filter of the hashes; proves for most keys that they are new without a comparison
	base      int       // index of the first key in Stack.hashes
	heapBase  int       // index of the first key in Stack.heap, if onHeap is set
	onHeap    bool
	undecided bool
}

// Open starts the key set of a map that lies inside all open maps.
func (s *Stack) Open() Map { return Map{base: s.n} }

// Close ends m and reports whether all keys are known to be different. If it returns false, the caller must call
// Duplicate.
func (s *Stack) Close(m *Map) bool {
	s.n = m.base
	if s.heap != nil {
		s.closeHeap(m)
	}
	return !m.undecided
}

// Add adds a key by its hash h.
func (m *Map) Add(s *Stack, h uint64) {
	word, bit := h>>62, uint64(1)<<(h>>56&63)
	if m.bloom[word]&bit != 0 || s.n == inlineKeys {
		m.addSlow(s, h)
		return
	}
	m.bloom[word] |= bit
	s.hashes[s.n&(inlineKeys-1)] = uint32(h)
	s.n++
}

// addSlow is Add for the less common cases: the Bloom filter does not prove that the key is new, or the Stack is full.
func (m *Map) addSlow(s *Stack, h uint64) {
	if s.n == inlineKeys && !m.onHeap {
		m.moveToHeap(s)
	}
	if m.onHeap {
		if len(*s.heap) == cap(*s.heap) {
			*s.heap = slices.Grow(*s.heap, len(*s.heap)) // append would grow it in smaller steps and copy it more often
		}
		*s.heap = append(*s.heap, h|wholeHash)
		return
	}
	for _, other := range s.hashes[m.base:s.n] {
		m.undecided = m.undecided || other == uint32(h)
	}
	s.hashes[s.n] = uint32(h)
	s.n++
}

// moveToHeap moves the keys of m, the innermost open map, to the heap.
func (m *Map) moveToHeap(s *Stack) {
	if s.heap == nil {
		s.heap, _ = heaps.Get().(*[]uint64)
	}
	m.onHeap, m.heapBase = true, len(*s.heap)
	for _, low := range s.hashes[m.base:s.n] {
		*s.heap = append(*s.heap, uint64(low))
	}
	s.n = m.base
	m.bloom = [4]uint64{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)} // Add calls addSlow for each further key
}

// closeHeap is Close for the keys on the heap.
func (s *Stack) closeHeap(m *Map) {
	if m.onHeap {
		m.undecided = m.undecided || !distinct((*s.heap)[m.heapBase:], 32)
		*s.heap = (*s.heap)[:m.heapBase]
	}
	if s.n > 0 || len(*s.heap) > 0 {
		return
	}
	if cap(*s.heap) <= maxRetained {
		heaps.Put(s.heap)
	}
	s.heap = nil
}

// distinct reports whether all hashes on the heap are different. Their low halves may differ in the lowest bits bits
// only. distinct changes their order: it distributes them to 256 groups by the highest of these bits, and then searches
// each group. The hashes are random numbers to an attacker, so that two rounds suffice for 100,000 of them.
func distinct(hashes []uint64, bits uint) bool {
	if len(hashes) <= 24 {
		for i, h := range hashes {
			for _, other := range hashes[:i] {
				if uint32(h) == uint32(other) && (h == other || h < wholeHash || other < wholeHash) {
					return false
				}
			}
		}
		return true
	}
	if bits == 0 {
		return false
	}
	bits -= 8
	var next, end [256]uint32 // of each group
	for _, h := range hashes {
		end[h>>bits&255]++
	}
	sum := uint32(0)
	for g, size := range end {
		next[g] = sum
		sum += size
		end[g] = sum
	}
	for g := range end {
		for next[g] < end[g] {
			i := next[g]
			to := &next[hashes[i]>>bits&255]
			hashes[i], hashes[*to] = hashes[*to], hashes[i]
			*to++
		}
	}
	start := uint32(0)
	for _, e := range end {
		if !distinct(hashes[start:e], bits) {
			return false
		}
		start = e
	}
	return true
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

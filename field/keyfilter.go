package field

import "math/bits"

// KeyFilter tells most keys that none of some steps asks for by a byte or two of them, so that a format passes over nearly all
// of a message without a comparison. A bit that is not set says no; one that is set says perhaps.
type KeyFilter struct {
	Names   uint64 // bit n: a name whose NameBit is n
	Indices uint64 // bit n: an index that is n, modulo 64
	Keys    uint64 // bit n: the Y3 key n, for certain
}

// Add lets through what st asks for.
func (s *KeyFilter) Add(st *Step) {
	if n := len(st.Name); n > 0 {
		s.Names |= 1 << NameBit(n, st.Name[n/2], st.Name[n-1])
	}
	if st.Index >= 0 {
		s.Indices |= 1 << (uint(st.Index) & 63)
	}
	if st.Key >= 0 {
		s.Keys |= 1 << (uint(st.Key) & 63)
	}
}

// NameBit is the bit, 0..63, that a name of size bytes has in KeyFilter.Names. Middle is its byte at size/2. Names that differ
// by a number at their end, of up to two digits, mostly differ in their bit.
func NameBit(size int, middle, last byte) uint {
	return (uint(last) + 11*uint(middle) + 5*uint(size)) & 63
}

// NamesAfter returns names, which are bits of the KeyFilter of n's children, without that of child's name: child was found, and is
// not wanted again. Where children share a bit nothing is taken away.
func (n *Node) NamesAfter(names uint64, child *Node) uint64 {
	if bits.OnesCount64(n.Filter.Names) != n.Count {
		return names
	}
	name := child.Step.Name
	return names &^ (1 << NameBit(len(name), name[len(name)/2], name[len(name)-1]))
}

package field

import "math/bits"

// KeyFilter rejects most keys that no step matches, by one or two of their bytes. A format so skips nearly all of a
// message without comparing keys. A clear bit means that no step matches; a set bit means that one may.
type KeyFilter struct {
	Names   uint64 // bit n: a step's name has NameBit n
	Indices uint64 // bit n: a step's index is n modulo 64
	Keys    uint64 // bit n: a step's Y3 key is n, exactly
}

// Add sets the bits of the keys that st matches.
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

// NameBit returns the bit, 0 to 63, of a name of size bytes in KeyFilter.Names. Middle is its byte at size/2. Names
// that differ only in a final number of up to two digits mostly have different bits.
func NameBit(size int, middle, last byte) uint {
	return (uint(last) + 11*uint(middle) + 5*uint(size)) & 63
}

// NamesAfter returns names without the bit of child's name, as child was found and is not searched any longer. The bit
// stays if children share it.
func (n *Node) NamesAfter(names uint64, child *Node) uint64 {
	if bits.OnesCount64(n.Filter.Names) != n.Count {
		return names
	}
	name := child.Step.Name
	return names &^ (1 << NameBit(len(name), name[len(name)/2], name[len(name)-1]))
}

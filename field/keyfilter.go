package field

import "math/bits"

// KeyFilter rejects most keys that no step matches, by one or two bytes of the key. A format that uses it skips nearly
// all of a message without comparing keys. A clear bit means that no step matches. A set bit means that a step may
// match.
type KeyFilter struct {
	Names   uint64 // bit n is set if NameBit of a step's name is n
	Indices uint64 // bit n is set if a step's index modulo 64 is n
	Keys    uint64 // bit n is set if a step's Y3 key is n
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

// NameBit returns the number of a name's bit in KeyFilter.Names, from 0 to 63. size is the name's length in bytes,
// middle is the byte at size/2, last is the last byte. Names that differ only in a final number of one or two digits
// mostly have different bits.
func NameBit(size int, middle, last byte) uint {
	return (uint(last) + 11*uint(middle) + 5*uint(size)) & 63
}

// NamesAfter returns names without the bit of child's name. A format calls it after it has found child, because later
// keys need no comparison with child. If two children share a bit, all bits stay.
func (n *Node) NamesAfter(names uint64, child *Node) uint64 {
	if bits.OnesCount64(n.Filter.Names) != n.Count {
		return names
	}
	name := child.Step.Name
	return names &^ (1 << NameBit(len(name), name[len(name)/2], name[len(name)-1]))
}

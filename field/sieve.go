package field

// Sieve tells most keys that none of some steps asks for by a byte or two of them, so that a format passes over nearly all
// of a message without a comparison. A bit that is not set says no; one that is set says perhaps.
type Sieve struct {
	Sizes   uint64 // bit n: a name of n bytes, modulo 64
	Lasts   uint64 // bit n: a name whose last byte is n, modulo 64
	Indices uint64 // bit n: an index that is n, modulo 64
	Keys    uint64 // bit n: the Y3 key n, for certain
}

// Add lets through what st asks for.
func (s *Sieve) Add(st *Step) {
	if n := len(st.Name); n > 0 {
		s.Sizes |= 1 << (uint(n) & 63)
		s.Lasts |= 1 << (st.Name[n-1] & 63)
	}
	if st.Index >= 0 {
		s.Indices |= 1 << (uint(st.Index) & 63)
	}
	if st.Key >= 0 {
		s.Keys |= 1 << (uint(st.Key) & 63)
	}
}

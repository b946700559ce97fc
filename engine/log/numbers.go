package log

import "math/bits"

// chunkSize is how many numbers one chunk has.
const chunkSize = 4096

// numbers is a set of numbers: those of the records that are removed. It takes a bit for a number between others, and nothing for
// one in a long run.
type numbers struct{ chunks map[uint64]*chunk }

type chunk struct {
	bits [chunkSize / 64]uint64
	n    int
}

// full is the chunk that has all its numbers. Nothing changes it.
var full = func() *chunk {
	c := &chunk{n: chunkSize}
	for i := range c.bits {
		c.bits[i] = ^uint64(0)
	}
	return c
}()

// add adds the numbers of r and returns how many are new.
func (s *numbers) add(r Range) (added uint64) {
	if s.chunks == nil {
		s.chunks = map[uint64]*chunk{}
	}
	for n := r.First; n <= r.Last; {
		key := n / chunkSize
		end := min(r.Last, key*chunkSize+chunkSize-1)
		c := s.chunks[key]
		switch {
		case c == full:
		case n%chunkSize == 0 && end%chunkSize == chunkSize-1:
			added += chunkSize
			if c != nil {
				added -= uint64(c.n)
			}
			s.chunks[key] = full
		default:
			if c == nil {
				c = new(chunk)
				s.chunks[key] = c
			}
			for i := n; i <= end; i++ {
				if bit := uint64(1) << (i % 64); c.bits[i%chunkSize/64]&bit == 0 {
					c.bits[i%chunkSize/64] |= bit
					c.n++
					added++
				}
			}
			if c.n == chunkSize {
				s.chunks[key] = full
			}
		}
		n = end + 1
	}
	return added
}

func (s *numbers) has(n uint64) bool {
	c := s.chunks[n/chunkSize]
	return c != nil && c.bits[n%chunkSize/64]&(1<<(n%64)) != 0
}

// next returns the first number from n on that is not in the set.
func (s *numbers) next(n uint64) uint64 {
	for {
		c := s.chunks[n/chunkSize]
		switch c {
		case nil:
			return n
		case full:
			n = (n/chunkSize + 1) * chunkSize
			continue
		}
		if absent := ^c.bits[n%chunkSize/64] >> (n % 64); absent != 0 {
			return n + uint64(bits.TrailingZeros64(absent))
		}
		n = (n/64 + 1) * 64
	}
}

// previous returns the last number up to n that is not in the set, or 0.
func (s *numbers) previous(n uint64) uint64 {
	for n > 0 && s.has(n) {
		if s.chunks[n/chunkSize] == full {
			n = n / chunkSize * chunkSize
		}
		if n > 0 {
			n--
		}
	}
	return n
}

// count returns how many numbers of r are in the set.
func (s *numbers) count(r Range) (n uint64) {
	s.each(r, func(part Range) { n += part.Last - part.First + 1 })
	return n
}

// each calls visit for the longest ranges within r that are in the set, in order.
func (s *numbers) each(r Range, visit func(Range)) {
	if len(s.chunks) == 0 {
		return
	}
	var run Range
	for n := r.First; n <= r.Last; {
		key := n / chunkSize
		end := min(r.Last, key*chunkSize+chunkSize-1)
		if c := s.chunks[key]; c == full || c == nil {
			if c == full {
				if run.Last == 0 {
					run.First = n
				}
				run.Last = end
			} else if run.Last > 0 {
				visit(run)
				run = Range{}
			}
			n = end + 1
			continue
		}
		for ; n <= end; n++ {
			if s.has(n) {
				if run.Last == 0 {
					run.First = n
				}
				run.Last = n
			} else if run.Last > 0 {
				visit(run)
				run = Range{}
			}
		}
	}
	if run.Last > 0 {
		visit(run)
	}
}

// forget removes the numbers of chunks that end below n. from is what n was before.
func (s *numbers) forget(from, n uint64) {
	if uint64(len(s.chunks)) < n/chunkSize-from/chunkSize {
		for key := range s.chunks {
			if key < n/chunkSize {
				delete(s.chunks, key)
			}
		}
		return
	}
	for key := from / chunkSize; key < n/chunkSize; key++ {
		delete(s.chunks, key)
	}
}

// Range is the numbers from First to Last.
type Range struct{ First, Last uint64 }

// addRange adds a range to a list, as a part of the last one if it adjoins.
func addRange(list []Range, r Range) []Range {
	if n := len(list); n > 0 && list[n-1].Last+1 == r.First {
		list[n-1].Last = r.Last
		return list
	}
	return append(list, r)
}

// upTo appends what ranges have up to last to list.
func upTo(list, ranges []Range, last uint64) []Range {
	for _, r := range ranges {
		if r.First <= last {
			list = append(list, Range{r.First, min(r.Last, last)})
		}
	}
	return list
}

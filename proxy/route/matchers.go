package route

// maxFreeMatchers is the number of Matchers that a Matchers keeps.
const maxFreeMatchers = 64

// Matchers is a free list of the Matchers of one Table, the one that was used last. The zero value is empty. It belongs to one
// goroutine.
type Matchers struct {
	table *Table
	free  []*Matcher
}

// Get returns a Matcher of t. Put follows.
func (ms *Matchers) Get(t *Table) *Matcher {
	if ms.table != t {
		clear(ms.free)
		ms.table, ms.free = t, ms.free[:0]
	}
	n := len(ms.free)
	if n == 0 {
		return t.NewMatcher()
	}
	m := ms.free[n-1]
	ms.free = ms.free[:n-1]
	return m
}

// Put takes a Matcher back whose search has ended, or was Reset.
func (ms *Matchers) Put(m *Matcher) {
	if m.table == ms.table && len(ms.free) < maxFreeMatchers {
		ms.free = append(ms.free, m)
	}
}

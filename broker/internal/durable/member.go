package durable

import "slices"

// Member is one subscription that takes part in a durable. The caller sets the fields up to Leaving.
type Member struct {
	Owner any // the caller's

	Credit  int  // bytes of content that may still be sent
	Blocked bool // its stream has no room; Unblock ends that
	Leaving bool // it gets no further record, and keeps those that it holds

	InFlight int    // records that it holds
	Bytes    int    // of their content
	Acked    uint64 // records
	Naked    uint64
	Expired  uint64

	parked []*key // keys that wait for the member; some have left that state since
}

func (m *Member) ready() bool { return m.Credit > 0 && !m.Blocked && !m.Leaving }

// Join adds a member, with its credit.
func (w *Window) Join(m *Member) { w.members = append(w.members, m) }

// Members returns the members. The slice is a view.
func (w *Window) Members() []*Member { return w.members }

// Leave removes a member. The records that it holds came back. counts says whether they count as delivered.
func (w *Window) Leave(m *Member, counts bool, now int64) {
	w.members = slices.DeleteFunc(w.members, func(other *Member) bool { return other == m })
	m.Leaving = true
	for _, s := range w.slots[w.first:] {
		if e := s.entry; e.state == inFlight && e.member == m {
			w.comeBack(e, now, now, counts, "the subscription that held it ended")
		}
	}
	w.resumeParked(m)
}

// AddCredit allows n more bytes for a member, whose credit never exceeds limit.
func (w *Window) AddCredit(m *Member, n, limit int) {
	m.Credit = min(m.Credit+min(n, limit), limit)
	w.resumeParked(m)
}

// Unblock notes that the member's stream has room again.
func (w *Window) Unblock(m *Member) {
	m.Blocked = false
	w.resumeParked(m)
}

// resumeParked makes the keys that wait for m available to Next, if m can receive or holds none of their records any more.
func (w *Window) resumeParked(m *Member) {
	if !m.ready() {
		return
	}
	for i, k := range m.parked {
		m.parked[i] = nil
		if k.state == parked && k.member == m {
			w.resume(k)
		}
	}
	m.parked = m.parked[:0]
}

// choose returns the member with the fewest bytes in flight of those that can receive, and of equal ones the next in turn. It avoids one
// member if there is another. nil means that no member can receive. It looks at all members, which are few.
func (w *Window) choose(avoid *Member) *Member {
	var best, last *Member
	turn := w.turn
	for i := range w.members {
		at := (turn + i) % len(w.members)
		m := w.members[at]
		switch {
		case !m.ready():
		case m == avoid:
			last = m
		case best == nil || m.Bytes < best.Bytes:
			best, w.turn = m, at+1
		}
	}
	if best == nil {
		best = last
	}
	return best
}

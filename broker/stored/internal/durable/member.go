package durable

import "slices"

// Member is one subscription that takes part in a durable. The caller sets the fields up to Leaving.
type Member struct {
	Owner any // the caller's

	Credit  int  // bytes of content that may still be sent
	Blocked bool // its stream has no room; Unblock ends that
	Leaving bool // it gets no further record, and keeps those that it holds

	Concurrency int // records that it handles at a time: those that it has had longest; 0 means all that it holds

	InFlight int    // records that it holds
	Bytes    int    // of their content
	Acked    uint64 // records
	Naked    uint64
	Expired  uint64

	oldest, newest *entry // that it holds, in the order in which they were sent
	progress       int64  // when it was last in progress
	parked         []*key // keys that wait for the member; some have left that state since
}

func (m *Member) ready() bool { return m.Credit > 0 && !m.Blocked && !m.Leaving }

// append adds e, which was sent last, to the records that m holds.
func (m *Member) append(e *entry) {
	e.older, m.newest = m.newest, e
	if e.older == nil {
		m.oldest = e
	} else {
		e.older.newer = e
	}
	m.InFlight++
	m.Bytes += len(e.content.B)
}

func (m *Member) remove(e *entry) {
	if e.older == nil {
		m.oldest = e.newer
	} else {
		e.older.newer = e.newer
	}
	if e.newer == nil {
		m.newest = e.older
	} else {
		e.newer.older = e.older
	}
	e.older, e.newer = nil, nil
	m.InFlight--
	m.Bytes -= len(e.content.B)
}

// due returns when AckWait of the oldest record of m has passed. ok is false if it holds none. The others are due later.
func (w *Window) due(m *Member) (at int64, ok bool) {
	if m.oldest == nil {
		return 0, false
	}
	return max(m.oldest.at, m.progress) + int64(w.cfg.AckWait), true
}

// Renew returns the member for another Window. It holds nothing.
func (m *Member) Renew() *Member {
	return &Member{
		Owner: m.Owner, Credit: m.Credit, Blocked: m.Blocked, Leaving: m.Leaving, Concurrency: m.Concurrency,
		Acked: m.Acked, Naked: m.Naked, Expired: m.Expired,
	}
}

// Join adds a member, with its credit.
func (w *Window) Join(m *Member) { w.members = append(w.members, m) }

// Members returns the members. The slice is a view.
func (w *Window) Members() []*Member { return w.members }

// Leave removes a member. The records that it holds came back. If tried, those that it may have handled count as delivered.
func (w *Window) Leave(m *Member, tried bool, now int64) {
	w.members = slices.DeleteFunc(w.members, func(other *Member) bool { return other == m })
	m.Leaving = true
	for n := 0; m.oldest != nil; n++ {
		w.comeBack(m.oldest, now, now, tried && (m.Concurrency == 0 || n < m.Concurrency), "the subscription that held it ended")
	}
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

package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind is the kind of a Violation.
type Kind string

// The kinds.
const (
	Lost      Kind = "lost"      // stored, but never handled
	Invented  Kind = "invented"  // handled or stored, but never sent
	Reordered Kind = "reordered" // handled after a message of its key that was sent later
	Repeated  Kind = "repeated"  // handled again, though nothing failed since
)

// Violation is a broken promise.
type Violation struct {
	Kind   Kind
	Key    string
	Number uint64
	Why    string
	Stored time.Time // when the message was stored, with Lost
}

func (v Violation) String() string {
	return fmt.Sprintf("%s: message %d of key %q: %s", v.Kind, v.Number, v.Key, v.Why)
}

// Report is what Check has found.
type Report struct {
	Sent, Stored int // messages
	Handled      int // messages
	Again        int // times that a message was handled again
	Faults       int
	LongestGap   time.Duration // longest time between two messages being stored
	GapFaults    []string      // what failed in that time
	Violations   []Violation
}

// OK reports whether no promise was broken.
func (r *Report) OK() bool { return len(r.Violations) == 0 }

// Count returns the number of Violations of a kind.
func (r *Report) Count(k Kind) (n int) {
	for _, v := range r.Violations {
		if v.Kind == k {
			n++
		}
	}
	return n
}

// maxListed is how many Violations String lists.
const maxListed = 20

// String returns the counts in one line, and a line for each of the first Violations.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d messages sent, %d stored, %d handled, %d times again, %d faults, longest gap between stored messages %v%s: %d lost, %d invented, %d reordered, %d repeated",
		r.Sent, r.Stored, r.Handled, r.Again, r.Faults, r.LongestGap.Round(time.Millisecond), during(r.GapFaults),
		r.Count(Lost), r.Count(Invented), r.Count(Reordered), r.Count(Repeated))
	for i, v := range r.Violations {
		if i == maxListed {
			fmt.Fprintf(&b, "\n... and %d more", len(r.Violations)-i)
			break
		}
		fmt.Fprintf(&b, "\n%v", v)
	}
	return b.String()
}

func during(faults []string) string {
	if len(faults) == 0 {
		return ""
	}
	return " (" + strings.Join(faults, ", ") + ")"
}

// progress is what the check knows of one message. An index is that of an event; -1 means none.
type progress struct {
	sent, stored    int
	handled, failed int // the last ones
	first           int // the first time that it was handled
}

// keyProgress is what the check knows of a key.
type keyProgress struct {
	furthest uint64 // greatest number that was handled
	last     uint64 // number that was handled last
	at       int    // index of that event
}

// checker goes through the events of a History.
type checker struct {
	h        *History
	report   Report
	messages map[message]*progress
	keys     map[int32]*keyProgress

	lastStored       int // index of the last event stored; -1 if there is none
	gapFrom, gapUpTo int // indices of the events around LongestGap
}

// Check returns what is wrong with the events so far. Call it when nothing more happens: a message that is handled later counts
// as lost.
func (h *History) Check() *Report {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := checker{h: h, messages: map[message]*progress{}, keys: map[int32]*keyProgress{}, lastStored: -1}
	c.report.Faults = len(h.faults)
	for i := range h.events {
		e := &h.events[i]
		p := c.messages[message{e.key, e.number}]
		if p == nil {
			p = &progress{sent: -1, stored: -1, handled: -1, failed: -1, first: -1}
			c.messages[message{e.key, e.number}] = p
		}
		switch e.kind {
		case sent:
			p.sent = i
			c.report.Sent++
		case stored:
			if p.sent < 0 {
				c.violation(Invented, e, "it is stored, but was not sent")
			}
			c.gap(i)
			if p.stored < 0 {
				c.report.Stored++
			}
			p.stored = i
		case handled:
			c.handled(i, e, p)
		case failed:
			p.failed = i
		}
	}
	for _, f := range h.faults {
		if c.report.LongestGap > 0 && f.overlaps(c.gapFrom, c.gapUpTo) {
			c.report.GapFaults = append(c.report.GapFaults, f.what)
		}
	}
	c.lost()
	return &c.report
}

// lost finds the stored messages that were never handled.
func (c *checker) lost() {
	var lost []message
	for m, p := range c.messages {
		if p.stored >= 0 && p.first < 0 {
			lost = append(lost, m)
		}
	}
	slices.SortFunc(lost, func(a, b message) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.number, b.number)) })
	for _, m := range lost {
		c.violation(Lost, &event{key: m.key, number: m.number}, "it was stored, but never handled")
		c.report.Violations[len(c.report.Violations)-1].Stored = c.h.events[c.messages[m].stored].at
	}
}

// gap measures the time since the last message was stored.
func (c *checker) gap(i int) {
	if c.lastStored >= 0 {
		if d := c.h.events[i].at.Sub(c.h.events[c.lastStored].at); d > c.report.LongestGap {
			c.report.LongestGap, c.gapFrom, c.gapUpTo = d, c.lastStored, i
		}
	}
	c.lastStored = i
}

// handled checks one time that a message is handled.
func (c *checker) handled(i int, e *event, p *progress) {
	if p.sent < 0 {
		c.violation(Invented, e, e.by+" handles it, but it was not sent")
		p.first, p.handled = i, i
		return // it has no place in the order
	}
	k := c.keys[e.key]
	if k == nil {
		k = &keyProgress{}
		c.keys[e.key] = k
	}
	switch {
	case p.first >= 0 && p.failed < p.handled && !c.faulty(p.handled, i):
		c.violation(Repeated, e, fmt.Sprintf("%s handles it again after %s has, and nothing has failed since", e.by, c.h.events[p.handled].by))
	case p.first < 0 && e.number < k.furthest:
		c.violation(Reordered, e, fmt.Sprintf("%s handles it for the first time after message %d", e.by, k.furthest))
	case e.number < k.last && !c.faulty(k.at, i):
		c.violation(Reordered, e, fmt.Sprintf("%s handles it again after message %d, and nothing has failed since", e.by, k.last))
	}
	if p.first < 0 {
		p.first = i
		c.report.Handled++
	} else {
		c.report.Again++
	}
	p.handled = i
	k.furthest, k.last, k.at = max(k.furthest, e.number), e.number, i
}

// faulty reports whether there was a fault between two events.
func (c *checker) faulty(from, upTo int) bool {
	for _, f := range c.h.faults {
		if f.overlaps(from, upTo) {
			return true
		}
	}
	return false
}

// overlaps reports whether the fault lasted at some time between two events.
func (f fault) overlaps(from, upTo int) bool {
	return f.begin <= upTo && (f.end < 0 || f.end > from)
}

func (c *checker) violation(k Kind, e *event, why string) {
	c.report.Violations = append(c.report.Violations, Violation{Kind: k, Key: c.h.names[e.key], Number: e.number, Why: why})
}

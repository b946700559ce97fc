package hop

import (
	"sync/atomic"

	"example.com/ferry"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/topic"
	"example.com/ferry/protocol/native"
)

// route is where the messages of one tag go. It is immutable but for the groups' turns.
type route struct {
	preds  []*predicate // the distinct ones
	solo   []target
	groups []*group
}

// target is a lane and the predicate that stands before it: an index in preds, or -1.
type target struct {
	lane *lane
	pred int
}

// group is subscriptions of which one gets each message.
type group struct {
	members []target
	turn    atomic.Uint32
}

// subscription is one SUB of one session.
type subscription struct {
	session *session
	id      uint32
	filter  string
	group   string
	pred    *predicate
	policy  native.Policy
	window  int
	queue   int // bytes
	back    bool
	routed  bool // part of the routes; guarded by the hop's lock

	// Guarded by the session's lock.
	lanes       map[uint32]*lane // by tag
	past        Traffic          // of the lanes of tags that were freed
	pastDropped uint64
}

// routeOf returns t's route, and builds it if subscriptions have changed.
func (h *Hop) routeOf(t *tag) *route {
	if r := t.route.Load(); r != nil {
		return r
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := t.route.Load(); r != nil {
		return r
	}
	r := &route{}
	groups := map[string]*group{}
	for _, s := range h.subs {
		if s.back || !topic.Match(s.filter, t.name) {
			continue
		}
		s.session.mu.Lock()
		to := target{s.lane(t), r.predIndex(s.pred)}
		s.session.mu.Unlock()
		if s.group == "" {
			r.solo = append(r.solo, to)
			continue
		}
		g := groups[s.group]
		if g == nil {
			g = &group{}
			groups[s.group] = g
			r.groups = append(r.groups, g)
		}
		g.members = append(g.members, to)
	}
	t.route.Store(r)
	return r
}

func (r *route) predIndex(p *predicate) int {
	if p == nil {
		return -1
	}
	for i, q := range r.preds {
		if p == q {
			return i
		}
	}
	r.preds = append(r.preds, p)
	return len(r.preds) - 1
}

// lane returns s's lane for t; the locks of the hop and of the session are held.
func (s *subscription) lane(t *tag) *lane {
	l := s.lanes[t.id]
	if l == nil {
		l = &lane{sub: s, tag: t, out: s.session.outletFor(t.id), credit: s.window}
		s.lanes[t.id] = l
		t.lanes[l] = struct{}{}
	}
	return l
}

// backLanes appends to lanes those of what source to subscribed to as addressed to it.
func (h *Hop) backLanes(lanes []*lane, to ferry.SourceID, t *tag) []*lane {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[to]
	if s == nil {
		return lanes
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.subs {
		if sub.back && sub.routed && topic.Match(sub.filter, t.name) {
			lanes = append(lanes, sub.lane(t))
		}
	}
	return lanes
}

// deliver pushes n frames to l for p, which is nil for frames nobody waits for credit for. What it leaves unwritten it
// adds to touched, whose Flush is the caller's; nil leaves nothing. It returns how many were not taken because the lane is closed.
func (h *Hop) deliver(l *lane, frames []byte, n int, own *bufpool.Buf, p publisher, touched *touched) (refused int) {
	l.out.Lock()
	if l.closed {
		l.out.Unlock()
		return n
	}
	dropped, full := l.push(frames, n, own)
	if full && p != nil {
		l.park(p)
	}
	l.out.unlockLater(touched)
	if dropped > 0 {
		h.dropped[dropQueue].Add(uint64(dropped))
	}
	return 0
}

// pick returns the member of g whose turn it is: the next with credit and an empty queue, else the one with the least
// queued. Members whose predicate does not admit the message are left out; admits gets the predicate's index in the
// route's preds.
func (g *group) pick(admits func(pred int) bool) *lane {
	n := len(g.members)
	start := int(g.turn.Add(1) % uint32(n))
	var least *lane
	leastQueued := 0
	for i := range n {
		m := g.members[(start+i)%n]
		if m.pred >= 0 && !admits(m.pred) {
			continue
		}
		l := m.lane
		l.out.Lock()
		queued, free, closed := l.queue.Bytes(), l.credit > 0, l.closed
		l.out.Unlock()
		if closed {
			continue
		}
		if queued == 0 && free {
			return l
		}
		if least == nil || queued < leastQueued {
			least, leastQueued = l, queued
		}
	}
	return least
}

// deliverOne pushes one frame to the member that pick chooses, and to another one if that has just left. admits reports
// whether the predicate with an index in the route's preds holds for the frame.
func (h *Hop) deliverOne(g *group, frame []byte, own *bufpool.Buf, p publisher, touched *touched, admits func(pred int) bool) {
	for range g.members {
		l := g.pick(admits)
		if l == nil {
			break
		}
		if h.deliver(l, frame, 1, own, p, touched) == 0 {
			return
		}
	}
	for _, m := range g.members {
		if m.pred < 0 || admits(m.pred) {
			h.gone(1) // all that wanted it have left
			return
		}
	}
}

// gone counts messages whose subscriber has left.
func (h *Hop) gone(n int) {
	if n > 0 {
		h.dropped[dropGone].Add(uint64(n))
	}
}

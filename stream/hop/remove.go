package hop

import (
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// remove takes subscriptions out of the routes. Other members of their group get what they had queued, as far as their
// predicates and bounds allow; the rest is counted as dropped.
func (h *Hop) remove(subs []*subscription) {
	type closing struct {
		lane   *lane
		queue  peer.Queue
		resume func() // publishers that the lane held back; nil if there are none
	}
	var lanes []closing
	h.mu.Lock()
	for _, sub := range subs {
		for i, s := range h.subs {
			if s == sub {
				h.subs = append(h.subs[:i], h.subs[i+1:]...)
				break
			}
		}
		sub.routed = false
		h.preds.put(sub.pred)
		h.reroute(sub)
		sub.session.mu.Lock()
		for _, l := range sub.lanes {
			l.tag.users++ // until its queue is passed on
			delete(l.tag.lanes, l)
			l.out.Lock()
			queue := l.close()
			resume := l.out.takeFreed()
			l.tag.past.add(l.sent)
			l.out.Unlock()
			lanes = append(lanes, closing{l, queue, resume})
		}
		sub.session.mu.Unlock()
	}
	h.mu.Unlock()
	for i := range lanes {
		c := &lanes[i]
		if c.resume != nil {
			c.resume()
		}
		if c.queue.Bytes() > 0 {
			h.gone(h.redistribute(c.lane, &c.queue))
		}
	}
	h.mu.Lock()
	for _, c := range lanes {
		h.tags.release(c.lane.tag)
	}
	h.mu.Unlock()
}

// redistribute empties the queue of l, which is closed: it offers the messages to the other members of l's group, in turn,
// and returns how many of them none took. Without a group there are no other members, nor for addressed messages.
func (h *Hop) redistribute(l *lane, queue *peer.Queue) (left int) {
	rt := h.routeOf(l.tag)
	members := &group{}
	if !l.sub.back && l.sub.group != "" {
		for _, g := range rt.groups {
			if g.members[0].lane.sub.group == l.sub.group {
				members = g
			}
		}
	}
	m := newMatchers(h.formats)
	queue.Clear(func(frames []byte) {
		for len(frames) > 0 {
			f := native.Frame(frames[:native.Size(frames)])
			if !members.takeOver(f, func(pred int) bool {
				ok, _ := m.match(rt.preds[pred], f)
				return ok
			}) {
				left++
			}
			frames = frames[len(f):]
		}
	})
	return left
}

// takeOver gives f to the next member that has room for it and whose predicate admits it, and reports whether there is one.
func (g *group) takeOver(f native.Frame, admits func(pred int) bool) bool {
	start := int(g.turn.Add(1) % uint32(max(len(g.members), 1)))
	for i := range g.members {
		m := g.members[(start+i)%len(g.members)]
		if (m.pred < 0 || admits(m.pred)) && m.lane.takeOver(f) {
			return true
		}
	}
	return false
}

// takeOver queues or sends f, if the lane is open and has room for it.
func (l *lane) takeOver(f native.Frame) bool {
	l.out.Lock()
	defer l.out.unlock()
	sendable := l.queue.Bytes() == 0 && l.credit > 0 && l.out.Room() > 0
	fits := l.queue.Bytes()+len(f) <= l.sub.queue
	if l.closed || (!sendable && !fits) {
		return false
	}
	l.push(f, 1, nil)
	return true
}

package hop

import (
	"example.com/ferry/protocol/native"
)

// remove takes subscriptions out of the routes. Other members of their group get what they had queued, as far as their
// predicates and bounds allow; the rest is counted as dropped.
func (h *Hop) remove(subs []*subscription) {
	h.mu.Lock()
	for _, sub := range subs {
		for i, s := range h.subs {
			if s == sub {
				h.subs = append(h.subs[:i], h.subs[i+1:]...)
				break
			}
		}
		h.preds.put(sub.pred)
		h.reroute(sub)
	}
	h.mu.Unlock()
	for _, sub := range subs {
		sub.session.mu.Lock()
		lanes := make([]*lane, 0, len(sub.lanes))
		for _, l := range sub.lanes {
			lanes = append(lanes, l)
		}
		sub.session.mu.Unlock()
		for _, l := range lanes {
			h.retire(l)
		}
	}
}

// retire closes a lane of a subscription that was removed, and passes its queue on.
func (h *Hop) retire(l *lane) {
	var queued [][]byte
	l.out.Lock()
	l.close(func(frames []byte) { queued = append(queued, append([]byte(nil), frames...)) })
	sent := l.sent
	l.out.unlock()
	h.mu.Lock()
	h.past[l.tag.id].Messages += sent.Messages
	h.past[l.tag.id].Bytes += sent.Bytes
	h.mu.Unlock()
	if len(queued) > 0 {
		h.gone(h.redistribute(l, queued))
	}
}

// redistribute offers what l had queued to the other members of its group, in turn, and returns how many messages none of
// them took. A subscription without a group has no other members, nor has one for addressed messages.
func (h *Hop) redistribute(l *lane, queued [][]byte) (left int) {
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
	for _, frames := range queued {
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
	}
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
	if l.closed || !(sendable || l.queue.Bytes()+len(f) <= l.sub.queue) {
		return false
	}
	l.push(f, 1, nil)
	return true
}

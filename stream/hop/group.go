package hop

import (
	"sync/atomic"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// group is a consumer group: each message is delivered to one member.
type group struct {
	name    string
	members []target
	turn    atomic.Uint32
}

// admission reports whether a predicate is true for a message. The argument is an index in the route's predicates.
type admission func(predicate int) bool

func (m *target) admits(a admission) bool { return m.predicate < 0 || a(m.predicate) }

// pick returns the next member in turn that has credit and an empty queue. If there is none, it returns the member with
// the shortest queue. It skips members whose predicate is false.
func (g *group) pick(a admission) *deliveryQueue {
	n := len(g.members)
	start := int(g.turn.Add(1) % uint32(n))
	var shortest *deliveryQueue
	length := 0
	for i := range n {
		m := &g.members[(start+i)%n]
		if !m.admits(a) {
			continue
		}
		q := m.queue
		q.stream.Lock()
		queued, free, closed := q.frames.Bytes(), q.credit > 0, q.closed
		q.stream.Unlock()
		if closed {
			continue
		}
		if queued == 0 && free {
			return q
		}
		if shortest == nil || queued < length {
			shortest, length = q, queued
		}
	}
	return shortest
}

// deliverToGroup delivers one frame to the member that pick returns. If that member has just left, it picks again.
func (b *Broker) deliverToGroup(g *group, frame []byte, shared *bufpool.Buf, p *publisher, u *peer.Unflushed, a admission) {
	for range g.members {
		q := g.pick(a)
		if q == nil {
			break
		}
		if b.deliver(q, frame, 1, shared, p, u) == 0 {
			return
		}
	}
	for i := range g.members {
		if g.members[i].admits(a) {
			b.countSubscriberGone(1) // all members that could receive the message have left
			return
		}
	}
}

// takeOver passes f, queued by a leaving member, to the next member that has room and whose predicate is true. It
// reports whether there is such a member.
func (g *group) takeOver(f native.Frame, a admission) bool {
	start := int(g.turn.Add(1) % uint32(max(len(g.members), 1)))
	for i := range g.members {
		m := &g.members[(start+i)%len(g.members)]
		if m.admits(a) && m.queue.takeOver(f) {
			return true
		}
	}
	return false
}

// takeOver sends or queues f if the queue is open and has room for f. It reports whether it did.
func (q *deliveryQueue) takeOver(f native.Frame) bool {
	q.stream.Lock()
	defer q.stream.unlock()
	sendable := q.frames.Bytes() == 0 && q.credit > 0 && q.stream.Room() > 0
	fits := q.frames.Bytes()+len(f) <= q.sub.queueBound
	if q.closed || (!sendable && !fits) {
		return false
	}
	q.push(f, 1, nil)
	return true
}

package broker

import (
	"sync/atomic"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// group is the members of a consumer group that a route lists: each message is delivered to one member of the group.
type group struct {
	turn    *groupTurn
	members []target
	subs    []*subscription // of the members
}

// groupTurn makes the members of one group receive messages in turn. Members with different filters share it.
type groupTurn struct {
	name   string
	number int // distinguishes groups
	users  int // guarded by the broker's lock
	next   atomic.Uint32
}

// groupTurns is the turns of all groups, by name. The broker's lock guards it.
type groupTurns struct {
	byName map[string]*groupTurn
	last   int
}

// acquire adds a user to the turn of a group. It returns nil for an empty name, which means no group.
func (ts *groupTurns) acquire(name string) *groupTurn {
	if name == "" {
		return nil
	}
	t := ts.byName[name]
	if t == nil {
		ts.last++
		t = &groupTurn{name: name, number: ts.last}
		ts.byName[name] = t
	}
	t.users++
	return t
}

func (ts *groupTurns) release(t *groupTurn) {
	if t == nil {
		return
	}
	if t.users--; t.users == 0 {
		delete(ts.byName, t.name)
	}
}

// admission reports whether a predicate is true for a message. The argument is an index in the route's predicates.
type admission func(predicate int) bool

func (m *target) admits(a admission) bool { return m.predicate < 0 || a(m.predicate) }

// pick returns the next of n queues in turn that has credit and is empty. If there is none, it returns the shortest queue. queue
// returns nil for a member that does not receive the message.
func (t *groupTurn) pick(n int, queue func(int) *deliveryQueue) *deliveryQueue {
	start := int(t.next.Add(1) % uint32(n))
	var shortest *deliveryQueue
	length := 0
	for i := range n {
		if i += start; i >= n {
			i -= n
		}
		q := queue(i)
		if q == nil {
			continue
		}
		queued, credit, open := q.Load()
		if !open {
			continue
		}
		if queued == 0 && credit {
			return q
		}
		if shortest == nil || queued < length {
			shortest, length = q, queued
		}
	}
	return shortest
}

// deliverToGroup delivers one frame to the member of g that pick returns.
func (b *Broker) deliverToGroup(g *group, frame []byte, shared *bufpool.Buf, p *publisher, u *peer.Unflushed, a admission) {
	delivered := b.deliverToOne(g.turn, len(g.members), func(i int) *deliveryQueue {
		if m := &g.members[i]; m.admits(a) {
			return m.queue
		}
		return nil
	}, frame, shared, p, u)
	if delivered {
		return
	}
	for i := range g.members {
		if g.members[i].admits(a) {
			b.countSubscriberGone(1) // all members that could receive the message have left
			return
		}
	}
}

// deliverToOne delivers one frame to the queue that pick returns. If its member has just left, it picks again. It reports whether it
// has delivered the frame.
func (b *Broker) deliverToOne(t *groupTurn, n int, queue func(int) *deliveryQueue, frame []byte, shared *bufpool.Buf, p *publisher, u *peer.Unflushed) bool {
	for range n {
		q := t.pick(n, queue)
		if q == nil {
			break
		}
		if b.deliver(q, frame, 1, shared, p, u) == 0 {
			return true
		}
	}
	return false
}

// takeOver passes f, queued by a leaving member, to the next of n members that has room. It reports whether there is such a member.
// queue returns nil for a member that does not receive f.
func (t *groupTurn) takeOver(f native.Frame, n int, queue func(int) *deliveryQueue) bool {
	start := int(t.next.Add(1) % uint32(max(n, 1)))
	for i := range n {
		if q := queue((start + i) % n); q != nil && q.TakeOver(f) {
			return true
		}
	}
	return false
}

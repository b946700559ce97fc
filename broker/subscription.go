package broker

import (
	"sync/atomic"

	"example.com/ferry"
	"example.com/ferry/broker/internal/outlet"
	"example.com/ferry/broker/internal/routes"
	"example.com/ferry/broker/stats"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/peer"
	"example.com/ferry/internal/topic"
	"example.com/ferry/protocol/native"
)

// subscription is one SUB of one session.
type subscription struct {
	outlet.Sub
	session   *session
	filter    string
	group     string            // name of the consumer group; "" means none
	addressed bool              // receives only messages addressed to this client
	predicate *routes.Predicate // nil matches every message

	// Guarded by the broker's lock.
	routed    bool       // the subscription is part of the routes
	index     int        // index in Broker.subs
	place     int        // index in interest.subs
	rulePlace int        // index in rule.ungrouped; also guarded by the lock of ruleIndex
	turn      *groupTurn // of the group; nil without a group; constant while the subscription is routed

	recent [4]atomic.Pointer[deliveryQueue] // queues of tags that were used last, by the last bits of the tag number

	// Guarded by the session's lock.
	queues      map[uint32]*deliveryQueue // indexed by tag number; nil until used
	past        stats.Traffic             // traffic of queues whose tags were freed
	pastDropped uint64
}

// deliveryQueue is the messages of one tag for one subscription.
type deliveryQueue struct {
	outlet.Queue
	sub *subscription
	tag *tag
}

// queueOf returns the subscription's delivery queue for t. The caller holds the locks of the broker and of the session.
func (s *subscription) queueOf(t *tag) *deliveryQueue {
	q := s.queues[t.ID]
	if q == nil {
		q = &deliveryQueue{sub: s, tag: t}
		q.Init(&s.Sub, &t.Tag.Tag, s.session.streamFor(t.ID))
		if s.queues == nil {
			s.queues = map[uint32]*deliveryQueue{}
		}
		s.queues[t.ID] = q
		t.queues[q] = struct{}{}
	}
	return q
}

// queueFor returns the subscription's delivery queue for t, which has a publisher. It returns nil if the subscription has ended.
func (s *subscription) queueFor(t *tag) *deliveryQueue {
	recent := &s.recent[t.ID%uint32(len(s.recent))]
	if q := recent.Load(); q != nil && q.tag == t {
		return q
	}
	s.session.mu.Lock()
	q := s.queues[t.ID]
	s.session.mu.Unlock()
	if q == nil {
		if q = s.session.listener.broker.newQueue(s, t); q == nil {
			return nil
		}
	}
	recent.Store(q)
	return q
}

// newQueue returns the delivery queue of sub for t, or nil if sub has ended.
func (b *Broker) newQueue(sub *subscription, t *tag) *deliveryQueue {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !sub.routed || t.freed {
		return nil
	}
	sub.session.mu.Lock()
	defer sub.session.mu.Unlock()
	return sub.queueOf(t)
}

// addSubscription adds sub to the routes, if the identity allows its filter. After removeSession it returns an error, because nothing would remove sub
// again.
func (b *Broker) addSubscription(sub *subscription, where string) error {
	predicate, err := routes.ParsePredicate(where)
	if err != nil {
		return &native.Error{Code: native.CodeBadRequest, Reason: err.Error()}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sessions[sub.session.id] != sub.session {
		return &native.Error{Code: native.CodeDraining, Reason: "the connection is being closed"}
	}
	if identity := sub.session.identity.Load(); !covers(identity.Subscribe, sub.filter) {
		return forbidden(identity, "subscribe to", sub.filter)
	}
	sub.predicate, sub.routed = b.predicates.Acquire(predicate), true
	sub.index = len(b.subs)
	b.subs = append(b.subs, sub)
	if !sub.addressed {
		b.addInterest(sub)
	}
	return nil
}

// closedQueue is a closed delivery queue, and the work that is left for it.
type closedQueue struct {
	*deliveryQueue
	frames peer.Queue
	resume func() // returns the credit that the queue withheld to its publishers; nil if there are none
}

// removeSubscriptions removes subs from the routes. Queued messages of a group are passed to its other members, as far
// as their predicates and bounds allow. All other queued messages are counted as dropped.
func (b *Broker) removeSubscriptions(subs []*subscription) {
	var closed []closedQueue
	b.mu.Lock()
	for _, sub := range subs {
		if sub.routed {
			b.removeRouted(sub)
		}
		closed = sub.closeQueues(closed)
	}
	b.mu.Unlock()
	for i := range closed {
		q := &closed[i]
		if q.resume != nil {
			q.resume()
		}
		if q.frames.Bytes() > 0 {
			b.countSubscriberGone(b.redistribute(q))
		}
	}
	b.mu.Lock()
	for _, q := range closed {
		b.tags.release(q.tag)
	}
	b.mu.Unlock()
}

// removeRouted removes sub from the lists of the broker, whose lock the caller holds.
func (b *Broker) removeRouted(sub *subscription) {
	sub.routed = false
	last := len(b.subs) - 1
	b.subs[sub.index] = b.subs[last]
	b.subs[sub.index].index = sub.index
	b.subs[last] = nil
	b.subs = b.subs[:last]
	if !sub.addressed {
		b.removeInterest(sub)
	}
	b.predicates.Release(sub.predicate)
}

// closeQueues closes the subscription's delivery queues and appends them to closed. Each closed queue counts as a user
// of its tag until the caller releases that user. The caller holds the broker's lock.
func (s *subscription) closeQueues(closed []closedQueue) []closedQueue {
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	for _, q := range s.queues {
		q.tag.users++
		delete(q.tag.queues, q)
		frames, last, resume := q.Close()
		q.tag.past.Add(last.Sent)
		closed = append(closed, closedQueue{q, frames, resume})
	}
	return closed
}

// redistribute offers the messages of a closed queue to the other members of its group, in turn. It returns how many
// messages no member accepted. Messages addressed to the client, and messages of a subscription without a group, are
// not offered.
func (b *Broker) redistribute(q *closedQueue) (left int) {
	others := &groupMembers{broker: b, tag: q.tag, turn: q.sub.turn, matchers: routes.NewMatchers(b.formats)}
	q.frames.Clear(func(frames []byte) {
		for len(frames) > 0 {
			f := native.Frame(frames[:native.Size(frames)])
			if q.sub.addressed || q.sub.turn == nil || !others.takeOver(f) {
				left++
			}
			frames = frames[len(f):]
		}
	})
	return left
}

// addressedQueues appends to queues the delivery queues for messages on t that are addressed to source to.
func (b *Broker) addressedQueues(queues []*deliveryQueue, to ferry.SourceID, t *tag) []*deliveryQueue {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sessions[to]
	if s == nil {
		return queues
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.subs {
		if sub.addressed && sub.routed && topic.Match(sub.filter, t.Name) {
			queues = append(queues, sub.queueOf(t))
		}
	}
	return queues
}

// deliver passes n frames of publisher p to q. If it leaves the stream unflushed, it adds the stream to u. refused is n
// if q is closed, else 0.
func (b *Broker) deliver(q *deliveryQueue, frames []byte, n int, shared *bufpool.Buf, p *publisher, u *peer.Unflushed) (refused int) {
	dropped, open := q.Deliver(frames, n, shared, &p.Account, u)
	if !open {
		return n
	}
	if dropped > 0 {
		b.dropped[dropQueueFull].Add(uint64(dropped))
	}
	return 0
}

// countSubscriberGone counts n messages whose subscriber has left.
func (b *Broker) countSubscriberGone(n int) {
	if n > 0 {
		b.dropped[dropSubscriberGone].Add(uint64(n))
	}
}

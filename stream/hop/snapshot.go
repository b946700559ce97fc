package hop

import (
	"sort"
	"sync/atomic"
	"time"

	"example.com/ferry/protocol/native"
)

// Traffic counts messages and the bytes of their frames.
type Traffic struct{ Messages, Bytes uint64 }

func (t *Traffic) add(more Traffic) {
	t.Messages += more.Messages
	t.Bytes += more.Bytes
}

type counters struct{ messages, bytes atomic.Uint64 }

func (c *counters) add(messages, bytes int) {
	c.messages.Add(uint64(messages))
	c.bytes.Add(uint64(bytes))
}

func (c *counters) load() Traffic { return Traffic{c.messages.Load(), c.bytes.Load()} }

// The reasons for which messages are dropped; dropNames has their names in Snapshot.Dropped.
const (
	dropQueueFull      = iota // a delivery queue was full and its policy is to drop
	dropInvalid               // the payload is not what its type says
	dropSubscriberGone        // the subscriber left with messages queued
	dropNoAddressee           // the source it was addressed to is not connected or does not subscribe to it
	dropUnobserved            // no subscription matches the tag
	dropReasons
)

var dropNames = [dropReasons]string{"queue_full", "invalid", "subscriber_gone", "no_such_source", "unobserved"}

// Snapshot is a copy of a Broker's counters and queues at one moment.
type Snapshot struct {
	Connections   int                 // of identified clients
	Handshakes    int                 // connections whose client is not identified yet
	Tags          []TagStats          // in use, by name
	Freed         TagStats            // sum of the tags that are no longer in use; without a name
	Subscriptions []SubscriptionStats // by client, then id
	Dropped       map[string]uint64   // messages by reason
	Mismatched    uint64              // false results because a field was of another kind or a payload of an unknown type
	Refused       map[string]uint64   // connections by reason
	Latency       Latency
}

// TagStats is the traffic of one tag: in from its publishers, and out to all subscriptions.
type TagStats struct {
	Name    string
	In, Out Traffic
}

// SubscriptionStats is one subscription's state, summed over its tags.
type SubscriptionStats struct {
	Client         string
	Identity       string
	ID             uint32
	Filter         string
	Group          string
	Where          string
	Policy         native.Policy
	Out            Traffic
	QueuedBytes    int
	QueuedMessages int
	Credit         int // bytes, the least of its tags
	Withheld       int // publishers whose credit is withheld
	Dropped        uint64
}

// Snapshot returns the current figures. It holds the lock that all connections share only while it copies lists, and the
// lock of each stream for a moment.
func (b *Broker) Snapshot() Snapshot {
	s := Snapshot{Dropped: map[string]uint64{}, Refused: map[string]uint64{}, Mismatched: b.mismatched.Load()}
	b.mu.Lock()
	s.Connections, s.Handshakes, s.Freed = len(b.sessions), b.handshakes.Len(), b.tags.freed
	for code, n := range b.refused {
		s.Refused[code.String()] = n
	}
	subs := append([]*subscription(nil), b.subs...)
	tags := append([]*tag(nil), b.tags.all...)
	s.Tags = make([]TagStats, len(tags))
	for i, t := range tags {
		s.Tags[i].Out = t.past
	}
	b.mu.Unlock()
	for i, name := range dropNames {
		s.Dropped[name] = b.dropped[i].Load()
	}
	for i := range b.latency {
		s.Latency.Counts[i] = b.latency[i].Load()
	}
	s.Latency.Sum = time.Duration(b.latencySum.Load())
	out := map[*tag]Traffic{}
	for _, sub := range subs {
		s.Subscriptions = append(s.Subscriptions, sub.stats(out))
	}
	b.mu.Lock()
	for i, t := range tags {
		s.Tags[i].Name, s.Tags[i].In = t.name, t.in.load()
		if t.freed { // since the list was copied: past has the whole sum, and the queues may be missing in out
			s.Tags[i].Out = t.past
			continue
		}
		s.Tags[i].Out.add(out[t])
	}
	b.mu.Unlock()
	sort.Slice(s.Tags, func(i, j int) bool { return s.Tags[i].Name < s.Tags[j].Name })
	sort.Slice(s.Subscriptions, func(i, j int) bool {
		x, y := &s.Subscriptions[i], &s.Subscriptions[j]
		return x.Client < y.Client || (x.Client == y.Client && x.ID < y.ID)
	})
	return s
}

// stats returns the subscription's figures, and adds the traffic of its open queues to out, by tag.
func (s *subscription) stats(out map[*tag]Traffic) SubscriptionStats {
	v := SubscriptionStats{
		Client: s.session.name, Identity: s.session.identity.Name, ID: s.id, Filter: s.filter, Group: s.group,
		Policy: s.policy, Credit: s.window,
	}
	if s.predicate != nil {
		v.Where = s.predicate.String()
	}
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	v.Out, v.Dropped = s.past, s.pastDropped
	for _, q := range s.queues {
		q.stream.Lock()
		v.Out.add(q.sent)
		sum := out[q.tag]
		sum.add(q.sent)
		out[q.tag] = sum
		v.QueuedBytes += q.frames.Bytes()
		v.QueuedMessages += q.frames.Count()
		v.Credit = min(v.Credit, q.credit)
		v.Withheld += len(q.withheld)
		v.Dropped += q.dropped
		q.stream.Unlock()
	}
	return v
}

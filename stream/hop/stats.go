package hop

import (
	"math/bits"
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

// Why a message was dropped; the names stand in Snapshot.Dropped.
const (
	dropQueue      = iota // a lane's queue was full and its policy is to drop
	dropInvalid           // the payload is not what its type says
	dropGone              // the subscriber left with messages queued
	dropNoAddress         // the source it was addressed to is not there or does not listen
	dropUnobserved        // no subscription asks for the tag
	dropKinds
)

var dropNames = [dropKinds]string{"queue_full", "invalid", "subscriber_gone", "no_such_source", "unobserved"}

// LatencyBuckets is the number of buckets of a Latency: two an octave from 1 us.
const LatencyBuckets = 52

// Latency counts messages by the time between source and node: Counts[i] those below LatencyBound(i).
type Latency struct {
	Counts [LatencyBuckets]uint64
	Sum    time.Duration
}

// LatencyBound returns the upper bound of bucket i; the last bucket has none but counts as this.
func LatencyBound(i int) time.Duration {
	octave := time.Duration(1024) << (i / 2)
	return octave + octave/2*time.Duration(i%2)
}

func latencyBucket(ns int64) int {
	if ns < 1024 {
		return 0
	}
	octave := bits.Len64(uint64(ns)) - 11 // 0 for 1024..2047
	half := int(ns>>(octave+9)) & 1
	return min(octave*2+half+1, LatencyBuckets-1)
}

// Snapshot is what a Hop is doing.
type Snapshot struct {
	Connections   int                 // of clients that have said who they are
	Handshakes    int                 // connections that have not
	Tags          []TagStats          // in use, by name
	Freed         TagStats            // sum of the tags that were freed; without a name
	Subscriptions []SubscriptionStats // by client, then id
	Dropped       map[string]uint64   // messages by reason
	Mismatched    uint64              // evaluations that were false because a field was of another kind or a payload of no known type
	Refused       map[string]uint64   // connections by reason
	Latency       Latency
}

// TagStats is the traffic of one tag: into the node, and out to all subscriptions.
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
	Withheld       int // publishers held back
	Dropped        uint64
}

// Snapshot returns the current figures. It holds the lock that all connections share only while it copies lists, and
// takes each lane's lock for a moment.
func (h *Hop) Snapshot() Snapshot {
	s := Snapshot{Dropped: map[string]uint64{}, Refused: map[string]uint64{}, Mismatched: h.mismatched.Load()}
	h.mu.Lock()
	s.Connections, s.Handshakes, s.Freed = len(h.sessions), h.greeting.Len(), h.tags.freed
	for code, n := range h.refused {
		s.Refused[code.String()] = n
	}
	subs := append([]*subscription(nil), h.subs...)
	tags := append([]*tag(nil), h.tags.all...)
	s.Tags = make([]TagStats, len(tags))
	for i, t := range tags {
		s.Tags[i].Out = t.past
	}
	h.mu.Unlock()
	for i, name := range dropNames {
		s.Dropped[name] = h.dropped[i].Load()
	}
	for i := range h.latency {
		s.Latency.Counts[i] = h.latency[i].Load()
	}
	s.Latency.Sum = time.Duration(h.latencySum.Load())
	out := map[*tag]Traffic{}
	for _, sub := range subs {
		s.Subscriptions = append(s.Subscriptions, sub.stats(out))
	}
	h.mu.Lock()
	for i, t := range tags {
		s.Tags[i].Name, s.Tags[i].In = t.name, t.in.load()
		if t.freed { // meanwhile: its lanes may have been missed above
			s.Tags[i].Out = t.past
			continue
		}
		s.Tags[i].Out.add(out[t])
	}
	h.mu.Unlock()
	sort.Slice(s.Tags, func(i, j int) bool { return s.Tags[i].Name < s.Tags[j].Name })
	sort.Slice(s.Subscriptions, func(i, j int) bool {
		a, b := s.Subscriptions[i], s.Subscriptions[j]
		return a.Client < b.Client || (a.Client == b.Client && a.ID < b.ID)
	})
	return s
}

// stats returns the subscription's figures, and adds what its open lanes have sent to out.
func (s *subscription) stats(out map[*tag]Traffic) SubscriptionStats {
	v := SubscriptionStats{
		Client: s.session.name, Identity: s.session.identity.Name, ID: s.id, Filter: s.filter, Group: s.group,
		Policy: s.policy, Credit: s.window,
	}
	if s.pred != nil {
		v.Where = s.pred.String()
	}
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	v.Out, v.Dropped = s.past, s.pastDropped
	for _, l := range s.lanes {
		l.out.Lock()
		v.Out.add(l.sent)
		sum := out[l.tag]
		sum.add(l.sent)
		out[l.tag] = sum
		v.QueuedBytes += l.queue.Bytes()
		v.QueuedMessages += l.queue.Count()
		v.Credit = min(v.Credit, l.credit)
		v.Withheld += len(l.parked)
		v.Dropped += l.dropped
		l.out.Unlock()
	}
	return v
}

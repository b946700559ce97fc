package broker

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"sort"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker/stats"
	"example.com/ferry/broker/stored"
	"example.com/ferry/internal/clock"
	"example.com/ferry/protocol/native"
)

// The reasons for dropping a message. dropNames lists their names, which are keys of Snapshot.Dropped.
const (
	dropQueueFull      = iota // a delivery queue was full, and its policy drops messages
	dropInvalid               // the payload is invalid for its type
	dropSubscriberGone        // the subscriber left while messages for it were queued
	dropNoAddressee           // the addressed source is not connected, or does not subscribe to the message
	dropUnobserved            // no subscription matches the tag, and no stream stores it
	dropForbidden             // the publisher's grant for the tag was taken away while it was connected
	dropLoop                  // another node forwarded a message that this node had forwarded before
	dropHops                  // another node forwarded a message that has passed the most nodes
	dropCycle                 // the message has come through as many functions as a message may: they publish what they observe
	dropReasons
)

var dropNames = [dropReasons]string{"queue_full", "invalid", "subscriber_gone", "no_such_source", "unobserved", "forbidden", "loop", "hops", "cycle"}

// Snapshot is a copy of a Broker's counters and queues at one moment.
type Snapshot struct {
	Connections   int                 // connections whose client is identified
	Handshakes    int                 // connections whose client is not identified yet
	Tags          []TagStats          // tags in use, sorted by name
	Freed         TagStats            // sum of all tags that are no longer in use; Name is empty
	Subscriptions []SubscriptionStats // sorted by client, then by id
	Dropped       map[string]uint64   // dropped messages by reason
	Mismatched    uint64              // false results of predicates because a field has another kind or the payload's type is unknown
	Validated     uint64              // messages whose payload was validated
	Refused       map[string]uint64   // refused connections by reason
	Latency       stats.Latency
	Streams       []stored.StreamStats // sorted by name
}

// TagStats is the traffic of one tag: In counts what publishers sent, Out what all subscriptions received.
type TagStats struct {
	Name    string
	In, Out stats.Traffic
}

// SubscriptionStats is the state of one subscription, summed over its tags.
type SubscriptionStats struct {
	Client         string
	Identity       string
	ID             uint32
	Filter         string
	Group          string
	Where          string
	Policy         native.Policy
	Out            stats.Traffic
	QueuedBytes    int
	QueuedMessages int
	Credit         int // bytes, of the tag with the least credit
	Withheld       int // number of publishers whose credit is withheld
	Dropped        uint64
}

// Snapshot returns the current counters and queues. It holds the broker's lock only while it copies lists, and the lock
// of each stream only briefly.
func (b *Broker) Snapshot() Snapshot {
	s := Snapshot{Dropped: map[string]uint64{}, Refused: map[string]uint64{}, Mismatched: b.mismatched.Load() + b.store.Mismatched(), Validated: b.validated.Load(), Latency: b.latency.Load()}
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
	s.Streams = b.store.Stats()
	out := map[*tag]stats.Traffic{}
	for _, sub := range subs {
		s.Subscriptions = append(s.Subscriptions, sub.state(out))
	}
	b.mu.Lock()
	for i, t := range tags {
		s.Tags[i].Name, s.Tags[i].In = t.Name, t.in.Load()
		if t.freed { // freed after the list was copied: past is complete, while out may lack closed queues
			s.Tags[i].Out = t.past
			continue
		}
		s.Tags[i].Out.Add(out[t])
	}
	b.mu.Unlock()
	sort.Slice(s.Tags, func(i, j int) bool { return s.Tags[i].Name < s.Tags[j].Name })
	sort.Slice(s.Subscriptions, func(i, j int) bool {
		x, y := &s.Subscriptions[i], &s.Subscriptions[j]
		return x.Client < y.Client || (x.Client == y.Client && x.ID < y.ID)
	})
	return s
}

// state returns the state of the subscription. It adds the traffic of the open queues to out, by tag.
func (s *subscription) state(out map[*tag]stats.Traffic) SubscriptionStats {
	v := SubscriptionStats{
		Client: s.session.name(), Identity: s.session.identity.Load().Name, ID: s.ID, Filter: s.filter, Group: s.group,
		Where: s.predicate.String(), Policy: s.Policy, Credit: s.Window,
	}
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	v.Out, v.Dropped = s.past, s.pastDropped
	for _, q := range s.queues {
		x := q.Stats()
		v.Out.Add(x.Sent)
		sum := out[q.tag]
		sum.Add(x.Sent)
		out[q.tag] = sum
		v.QueuedBytes += x.Bytes
		v.QueuedMessages += x.Messages
		v.Credit = min(v.Credit, x.Credit)
		v.Withheld += x.Withheld
		v.Dropped += x.Dropped
	}
	return v
}

// ConnectionStats is one client.
type ConnectionStats struct {
	ID            ferry.SourceID // no other client has it while this one is connected, or had it shortly before (Config.FirstID)
	Listener      net.Addr       // that it connected to
	Addr          string         // of the client
	Client        string         // the name that it gave itself, or else that of its identity
	Identity      string
	Since         time.Time
	Subscriptions int // those of stored streams included
	Publishes     int // number of tags
}

// Connections returns all clients, sorted by ID.
func (b *Broker) Connections() []ConnectionStats {
	sessions, now := b.allSessions(), time.Now()
	all := make([]ConnectionStats, 0, len(sessions))
	for _, s := range sessions {
		s.mu.Lock()
		subscriptions, publishes := len(s.subs)+s.stored.Len(), len(s.published)
		s.mu.Unlock()
		all = append(all, ConnectionStats{
			ID: s.id, Listener: s.listener.inner.Addr(), Addr: s.addr(), Client: s.name(), Identity: s.identity.Load().Name, Since: now.Add(time.Duration(s.since - clock.At(now))),
			Subscriptions: subscriptions, Publishes: publishes,
		})
	}
	slices.SortFunc(all, func(a, b ConnectionStats) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// ErrNoClient means that no client has the ID.
var ErrNoClient = errors.New("broker: no client has this id")

// ErrByOperator is why CloseConnection ends a client. LocalHandler.Closed gets an error that wraps it.
var ErrByOperator = errors.New("broker: an operator has closed the connection")

// CloseConnection ends the connection of a client, and tells it that an operator did that: it may connect again. The error is ErrNoClient.
func (b *Broker) CloseConnection(id ferry.SourceID) error {
	b.mu.Lock()
	s := b.sessions[id]
	b.mu.Unlock()
	if s == nil {
		return ErrNoClient
	}
	b.cfg.Load().Log.Info("connection closed by an operator", "source", uint32(id), "name", s.name(), "identity", s.identity.Load().Name, "addr", s.addr())
	s.client.close(fmt.Errorf("%w: %w", ErrByOperator, &native.Error{Code: native.CodeDraining, Reason: "an operator has closed this connection"}))
	return nil
}

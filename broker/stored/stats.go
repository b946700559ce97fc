package stored

import (
	"sort"

	"example.com/ferry/broker/stats"
	"example.com/ferry/engine"
	"example.com/ferry/internal/clock"
)

// StreamStats is what a Store knows of a stream. What it stores, and where its durables are, the engine knows.
type StreamStats struct {
	Name        string
	Tags        []string
	AtLeastOnce bool
	Stored      stats.Traffic // messages that were stored; its bytes include those of Duplicates
	Duplicates  uint64        // messages that were not stored, because one with their ID is
	Pending     stats.Traffic // messages that wait to be stored
	Refused     uint64        // messages that the engine can never store
	Dropped     uint64        // messages that an at-most-once stream had no room for
	Waiting     string        // why nothing is stored; "" if messages are stored, or none waits
	Withheld    int           // publishers whose credit is withheld
	Durables    []DurableStats
	Replays     []ReplayStats
}

// DurableStats is the state of a durable on this node, since the Store began.
type DurableStats struct {
	Name, Filter, Where string

	State       string // reading, waiting (for the engine, or for another node that holds it) or closed (no member is here)
	Floor       uint64 // all records up to this sequence number are done; 0 before the first was read
	Read        uint64 // sequence number of the last record that was read
	Held        int    // records that were read and are not done
	HeldBytes   int    // memory of these
	InFlight    int    // records that members hold
	Delayed     int    // keys that wait for the time of their next delivery
	Delivered   stats.Traffic
	Redelivered uint64 // deliveries of messages that were delivered before
	Skipped     uint64 // records for which the predicate was false
	DeadLetters uint64
	Dropped     uint64 // messages that failed for the last time and have no dead letter
	Damaged     uint64 // records that the engine could not read
	Members     []MemberStats
}

// MemberStats is the state of one subscription of a durable.
type MemberStats struct {
	Client, Identity string

	ID            uint32
	Out           stats.Traffic
	InFlight      int // messages that it holds
	InFlightBytes int
	Credit        int // bytes
	Acked         uint64
	Naked         uint64
	Expired       uint64 // messages that it has not acked in time
}

// ReplayStats is the state of one subscription that reads a stream without a durable.
type ReplayStats struct {
	Client, Identity string

	ID            uint32
	Filter, Where string
	Out           stats.Traffic
	Skipped       uint64 // records for which the predicate was false
	Damaged       uint64
	Credit        int    // bytes
	Sequence      uint64 // of the last record that was read
}

// Stats returns the state of all streams, sorted by name.
func (s *Store) Stats() []StreamStats {
	list := s.table.Load().list
	all := make([]StreamStats, 0, len(list))
	for _, st := range list {
		all = append(all, st.state())
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

func (st *Stream) state() StreamStats {
	cfg := st.config()
	v := StreamStats{
		Name: cfg.Config.Name, Tags: cfg.Config.Tags, AtLeastOnce: cfg.AtLeastOnce, Stored: st.stored.Load(),
		Pending: stats.Traffic{Messages: uint64(max(st.waiting.Load(), 0)), Bytes: uint64(max(st.pending.Load(), 0))},
		Refused: st.refused.Load(), Dropped: st.dropped.Load(),
	}
	if counter, ok := cfg.Stream.(engine.DuplicateCounter); ok {
		v.Duplicates = counter.Duplicates()
		v.Stored.Messages -= min(v.Duplicates, v.Stored.Messages)
	}
	if reason := st.reason.Load(); reason != nil {
		v.Waiting = *reason
	}
	st.mu.Lock()
	v.Withheld = st.hold.Len()
	durables := make([]*durable, 0, len(st.durables))
	for _, d := range st.durables {
		durables = append(durables, d)
	}
	replays := make([]*replay, 0, len(st.replays))
	for r := range st.replays {
		replays = append(replays, r)
	}
	st.mu.Unlock()
	for _, d := range durables {
		v.Durables = append(v.Durables, d.state())
	}
	for _, r := range replays {
		v.Replays = append(v.Replays, r.state())
	}
	sort.Slice(v.Durables, func(i, j int) bool { return v.Durables[i].Name < v.Durables[j].Name })
	sort.Slice(v.Replays, func(i, j int) bool {
		x, y := &v.Replays[i], &v.Replays[j]
		return x.Client < y.Client || x.Client == y.Client && x.ID < y.ID
	})
	return v
}

func (d *durable) state() DurableStats {
	d.mu.Lock()
	defer d.unlock(clock.Now())
	v := DurableStats{
		Name: d.name, Filter: d.filter, Where: d.predicate.String(), State: "closed", Read: d.read.Load(), Delivered: d.delivered.Load(), Redelivered: d.redelivered,
		Skipped: d.skipped.Load(), DeadLetters: d.deadLetters.Load(), Dropped: d.dropped.Load(), Damaged: d.damaged.Load(),
	}
	if d.running {
		v.State = "waiting"
	}
	if w := d.window; w != nil {
		v.State = "reading"
		p, read := w.Position()
		if !read {
			p = d.cursor.Position()
		}
		v.Floor = p.Floor
		v.Held, v.HeldBytes = w.Held()
		v.Delayed = w.Delayed()
	}
	for _, m := range d.members {
		x := m.state
		v.InFlight += x.InFlight
		client, identity := m.sub.client.Names()
		v.Members = append(v.Members, MemberStats{
			Client: client, Identity: identity, ID: m.sub.id, Out: m.out, InFlight: x.InFlight, InFlightBytes: x.Bytes,
			Credit: x.Credit, Acked: x.Acked, Naked: x.Naked, Expired: x.Expired,
		})
	}
	return v
}

func (r *replay) state() ReplayStats {
	sub := r.sub
	client, identity := sub.client.Names()
	v := ReplayStats{
		Client: client, Identity: identity, ID: sub.id, Filter: sub.filter, Where: sub.predicate.String(),
		Out: r.sent.Load(), Skipped: r.skipped.Load(), Damaged: r.damaged.Load(), Sequence: r.sequence.Load(),
	}
	sub.stream.Lock()
	v.Credit = r.credit
	sub.stream.Unlock()
	return v
}

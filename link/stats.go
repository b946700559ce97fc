package link

import (
	"maps"
	"time"

	"example.com/ferry/link/spool"
)

// Stats is the state of a Line and its Outbox at one moment.
type Stats struct {
	Name      string
	Connected bool
	Err       error     // why there is no connection
	Since     time.Time // when the connection was made, or lost
	Connects  uint64

	Confirmed uint64            // messages that the other side has confirmed
	Refused   uint64            // messages that it does not take
	Returned  uint64            // messages that were left out because they have been on the other side before
	Dropped   map[string]uint64 // messages that were not sent, by reason

	Unconfirmed  int    // messages that are sent and not confirmed
	Waiting      int    // messages that are held in memory
	WaitingBytes int    // of these, and of the messages on their way that are not on disk
	Spooling     bool   // there is no connection, or unsent messages are on disk
	SpoolErr     error  // why the last write to the spool failed, or the last read; nil if neither did
	Spooled      uint64 // messages that were written to the spool since the start

	Spool spool.Stats // its Messages are records, each with a run of messages of one tag
}

// Refuse counts n messages that were sent and that the other side does not take. The caller holds the lock.
func (o *Outbox) Refuse(n int) {
	o.stats.Refused += uint64(n)
	o.Uncount(n)
}

// Return counts n messages that are left out because they have been on the other side before. The caller holds the lock.
func (o *Outbox) Return(n int) { o.stats.Returned += uint64(n) }

// Stats returns a copy of the counters.
func (o *Outbox) Stats() Stats {
	stored := o.store.Stats()
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.stats
	s.Dropped = maps.Clone(o.stats.Dropped)
	s.Unconfirmed, s.Waiting, s.WaitingBytes = o.unconfirmed, o.waiting.count+o.parked.count, o.sent.Bytes()+o.held()
	s.Spooling, s.Spool = !o.connected() || !o.disk.drained() || o.parked.count > 0, stored
	if s.SpoolErr = o.writes.err; s.SpoolErr == nil {
		s.SpoolErr = o.reads.err
	}
	return s
}

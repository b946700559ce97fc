package link

import (
	"maps"

	"example.com/ferry/link/spool"
)

// Stats is the state of an Outbox at one moment.
type Stats struct {
	Confirmed uint64            // messages that the other side has confirmed
	Dropped   map[string]uint64 // messages that were not sent, by reason

	Unconfirmed  int    // messages that are sent and not confirmed
	Waiting      int    // messages that are held in memory
	WaitingBytes int    // of both, in memory
	Spooling     bool   // there is no connection, or unsent messages are on disk
	SpoolErr     error  // why the last write to the spool failed, or the last read; nil if neither did
	Spooled      uint64 // messages that were written to the spool since the start

	Spool spool.Stats // its Messages are records, each with a run of messages of one tag
}

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

package forward

import (
	"maps"
	"time"

	"example.com/ferry/link/spool"
)

// The reasons for dropping a message, which are keys of Stats.Dropped.
const (
	dropTooLong = "too_long" // the other node takes no frame of this length
	dropFull    = "full"     // the spool, or its disk, is full
	dropDisk    = "disk"     // the spool could not be written, or is smaller than the message
	dropHops    = "hops"     // the message has passed as many nodes as a path may have
	dropClosed  = "closed"   // the link was closed before
)

// Stats is the state of a Link at one moment.
type Stats struct {
	Name      string
	Node      string // id of the other node; "" before the first connection, and if it has an earlier version
	Connected bool
	Err       error     // why there is no connection
	Since     time.Time // when the connection was made, or lost
	Connects  uint64

	Forwarded uint64            // messages that the other node has confirmed
	Refused   uint64            // messages that it has dropped, or whose tag it does not take
	Returned  uint64            // messages that have come from the other node, or through it
	Dropped   map[string]uint64 // messages that were not forwarded, by reason

	Tags         int    // that the link has requested of the other node
	Unconfirmed  int    // messages on their way
	Waiting      int    // messages that wait in memory
	WaitingBytes int    // of both
	Spooling     bool   // new messages go to the spool
	SpoolErr     error  // why the last write to the spool failed; nil if it did not
	Spooled      uint64 // messages that were written to the spool since the start

	Spool spool.Stats // its Messages are records, each with a run of messages of one tag
}

// Stats returns a copy of the counters.
func (l *Link) Stats() Stats {
	stored := l.spool.Stats()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Dropped = maps.Clone(l.stats.Dropped)
	s.Connected, s.Err, s.Since, s.SpoolErr = l.conn != nil, l.down, l.since, l.spoolErr
	s.Tags, s.Unconfirmed, s.Waiting = len(l.tags), l.sent.count, l.waiting.count
	s.WaitingBytes = l.sent.bytes() + l.waiting.bytes()
	s.Spooling, s.Spool = l.spooling, stored
	return s
}

// drop counts n messages that are not forwarded. The caller holds the lock.
func (l *Link) drop(reason string, n int) {
	if n > 0 {
		l.stats.Dropped[reason] += uint64(n)
	}
}

// note stores the result of a write to the spool, and logs a failure once.
func (l *Link) note(err error) {
	l.mu.Lock()
	news := err != nil && l.spoolErr == nil
	l.spoolErr = err
	l.mu.Unlock()
	if news {
		l.cfg.Log.Error("forward: the spool does not take messages", "link", l.cfg.Name, "err", err)
	}
}

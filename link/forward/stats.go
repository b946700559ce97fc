package forward

import (
	"time"

	"example.com/ferry/link/spool"
)

// The reasons for dropping a message beside those of an outbox, which are keys of Stats.Dropped.
const (
	dropTooLong = "too_long" // the other node takes no frame of this length
	dropHops    = "hops"     // the message has passed as many nodes as a path may have
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
	WaitingBytes int    // of these, and of the messages on their way that are not on disk
	Spooling     bool   // there is no connection, or messages on disk are not sent
	SpoolErr     error  // why the last write to the spool failed, or the last read; nil if neither did
	Spooled      uint64 // messages that were written to the spool since the start

	Spool spool.Stats // its Messages are records, each with a run of messages of one tag
}

// Stats returns a copy of the counters.
func (l *Link) Stats() Stats {
	box := l.box.Stats()
	l.box.Lock()
	defer l.box.Unlock()
	s := l.stats
	s.Connected, s.Err, s.Since, s.Tags = l.conn != nil, l.down, l.since, len(l.tags)
	s.Forwarded, s.Dropped, s.Unconfirmed, s.Waiting, s.WaitingBytes = box.Confirmed, box.Dropped, box.Unconfirmed, box.Waiting, box.WaitingBytes
	s.Spooling, s.SpoolErr, s.Spooled, s.Spool = box.Spooling, box.SpoolErr, box.Spooled, box.Spool
	return s
}

package mqttbridge

import (
	"maps"
	"time"

	"example.com/ferry/link/spool"
)

// The reasons for dropping a message, which are keys of Stats.Dropped.
const (
	dropTooLong    = "too_long"   // the other broker takes no packet of this length
	dropFull       = "full"       // the spool, or its disk, is full
	dropDisk       = "disk"       // the spool could not be written, or a record could not be read
	dropClosed     = "closed"     // the bridge was closed before
	dropTopic      = "topic"      // the topic cannot be a tag
	dropForbidden  = "forbidden"  // the node takes no messages on the tag, or has too many tags
	dropInvalid    = "invalid"    // the node has refused the payload
	dropProperties = "properties" // the properties of the message are longer than a node keeps
	dropQueue      = "queue"      // a message of QoS 0 has come while the node was slow
)

// Stats is the state of a Bridge at one moment.
type Stats struct {
	Name      string
	Connected bool
	Err       error     // why there is no connection
	Since     time.Time // when the connection was made, or lost
	Connects  uint64

	Sent     uint64            // messages that the other broker has confirmed
	Refused  uint64            // messages that it has refused
	Received uint64            // messages that were published on this node
	Returned uint64            // messages that were left out because they had been on the other side before
	Dropped  map[string]uint64 // messages that were not passed on, by reason

	Unconfirmed  int // messages on their way to the other broker
	Waiting      int // messages that wait in memory
	WaitingBytes int // of both
	Spooling     bool
	SpoolErr     error  // why the last write to the spool failed; nil if it did not
	Spooled      uint64 // messages that were written to the spool since the start

	Spool spool.Stats
}

// Stats returns a copy of the counters.
func (b *Bridge) Stats() Stats {
	stored := b.spool.Stats()
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.stats
	s.Dropped = maps.Clone(b.stats.Dropped)
	s.Connected, s.Err, s.Since, s.SpoolErr = b.conn != nil, b.down, b.since, b.spoolErr
	s.Unconfirmed, s.Waiting = b.flights.Len(), b.waiting.Len()
	s.WaitingBytes = b.sent.bytes + b.waiting.bytes
	s.Spooling, s.Spool = b.spooling, stored
	return s
}

// drop counts n messages that are not passed on. The caller holds the lock.
func (b *Bridge) drop(reason string, n int) {
	if n > 0 {
		b.stats.Dropped[reason] += uint64(n)
	}
}

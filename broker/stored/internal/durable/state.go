package durable

import "example.com/ferry/internal/bufpool"

// recordState is the phase of a record in a Window.
//
//	       Next                     ACK, also late
//	waiting ───► inFlight ─────────────────────────► done
//	   ▲            │ NAK, AckWait has passed,         ▲
//	   │            │ the member has left              │ Buried
//	   ├────────────┤                                  │
//	   │            └──────────────────────────────► dying
//	   │  deliveries are left       none are left, or NAK for ever
//
// A waiting record is not delivered before its time. A late ACK comes from the last member that held the record, before it is
// delivered again.
type recordState uint8

const (
	waiting  recordState = iota
	inFlight             // a member holds it
	dying                // the broker stores it as a dead letter
	done                 // its content is released; the slot is removed later
)

// keyState is the phase of a key, which is in the Window while it has a record that is waiting or in flight.
//
//	          its member has no credit, or no room
//	   ┌───────────────────────────────────────────► parked ─┐
//	   │                                                │    │ the member can receive,
//	 open ◄─── no record behind the scan position ───┐  │    │ or none is in flight
//	   │                                             │  │    ▼
//	   │ a record came back                          └─resumed ◄──────┐
//	   ▼                                                │    │        │ the time has come
//	draining ◄──────────────────────────────────────────┘    ▼        │
//	   │ no record is in flight                            delayed ───┘
//	   └──────────────────────────────────────────────────►  (the first record waits for its time)
//
// open: Next finds the key's records as it scans the Window. parked: its next record has to follow those that a member holds.
// draining: nothing is sent until the other records in flight are acked or came back, so that they are sent again in order.
// delayed: the next record waits for its time.
type keyState uint8

const (
	open keyState = iota
	parked
	draining
	delayed
	resumed
)

// entry is a record in a Window.
type entry struct {
	sequence   uint64
	content    *bufpool.Buf
	state      recordState
	deliveries uint32  // including the one in flight
	at         int64   // waiting: not to be sent before; in flight: when it was sent
	member     *Member // that holds the record, or held it last
	key        *key

	prev, next   *entry // of the key; the records that are waiting or in flight
	older, newer *entry // in flight, of the member, in the order in which they were sent
}

// key is the order of the records with one key.
type key struct {
	hash     uint64
	state    keyState
	head     *entry // first record that is waiting or in flight
	tail     *entry
	unsent   *entry // first record that is waiting, unless the key is draining
	inFlight int
	member   *Member // that holds the records in flight, or held the last one
	avoid    *Member // a record came back from it, and none was sent since
	rank     uint64  // in the heap: sequence number of unsent if resumed, the time if delayed
	index    int     // in the heap; -1 means in none
}

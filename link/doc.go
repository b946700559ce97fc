// Package link sends messages of this node to another place, and keeps them until they are confirmed there: an Outbox.
//
// An Outbox holds messages in memory, or on disk in a spool, and sends them over a Wire: a connection to another node (package
// link/forward) or to another broker (package link/mqttbridge). A message is in one of four states:
//
//	Push
//	  │
//	  ▼      the wire takes it
//	held ─────────────────────────► sent ──────────► confirmed
//	  │                             │  ▲                 ▲
//	  │ no connection, memory full, │  │ read from disk  │ the other side has it
//	  │ or a publisher waits        ▼  │                 │
//	  └───────────────────────► on disk ─────────────────┘
//	                            (unsent, or sent too)
//
// A message is safe when it is confirmed or on disk. The publisher of a message hears of its safety by Await, and no sooner. What is not
// safe may be refused: then its publisher is told. What is safe is never dropped, except by damage of the disk.
//
// The messages of a tag are sent in the order of Push. A tag that has unsent messages on disk waits for them. Other tags do not: their
// messages go from memory to the wire even if the disk can neither be read nor written.
package link

// Files: the outbox: it sends messages over a wire and keeps them until they are confirmed. doc.go draws the states of a
// message, push.go takes and refuses messages, memory.go holds them, flight.go is those that are sent, safe.go says when
// publishers hear of them, work.go decides what is due, write.go and read.go are the two ways to the disk, records.go is
// what is known of the records there, record.go the form of one, retry.go when a failure is tried again. line.go dials, and
// says so in the log.

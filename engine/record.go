package engine

import "example.com/ferry"

// Record is one message of a stream.
type Record struct {
	Sequence uint64 // position in the stream, from 1; set by the engine
	Stored   int64  // when the engine stored it, in Unix nanoseconds; set by the engine

	Tag       string
	Type      ferry.Type
	Validated bool   // the payload was validated in full
	Time      int64  // Unix nanoseconds at the source
	ID        string // idempotency key, which belongs to the tag; "" means none
	Extension []byte // entries of a PUB's extension (docs/native.md) that belong to the message: key, trace context, origin
	Payload   []byte
}

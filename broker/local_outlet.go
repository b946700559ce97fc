package broker

import (
	"sync"

	"example.com/ferry"
	"example.com/ferry/engine"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// Message is a message that a Local publishes or receives.
type Message struct {
	Tag       string         // Batch.Publish ignores it
	Type      ferry.Type     // format of Payload
	Time      int64          // Unix time in nanoseconds at the source; 0 means that of Batch.Begin
	Source    ferry.SourceID // publisher; 0 if the message comes from a stream. Batch.Publish sets it
	Payload   []byte
	Extension []byte // entries of a PUB (docs/native.md), such as native.TLVKey and native.TLVID

	Sequence   uint64 // position in the stream, from 1; 0 unless the subscription reads a stream
	Deliveries uint32 // how many times the message was delivered before, to any member of the durable
}

// Run is messages of one subscription, in order. It is valid during LocalHandler.Deliver.
type Run struct {
	tag    string
	frames []byte
	stored Message // the only message, if frames is nil
	left   int
}

// Len returns how many messages are left.
func (r *Run) Len() int { return r.left }

// Next sets m to the next message, as views. It returns false if there is none.
func (r *Run) Next(m *Message) bool {
	if r.left == 0 {
		return false
	}
	r.left--
	if r.frames == nil {
		*m = r.stored
		return true
	}
	f := native.Frame(r.frames[:native.Size(r.frames)])
	r.frames = r.frames[len(f):]
	*m = Message{Tag: r.tag, Type: f.Type(), Time: f.Time(), Source: f.Source(), Payload: f.Payload(), Extension: f.Extension()}
	return true
}

// localOutlet passes messages to the handler of a Local. A Local has one stream, so its lock is that of all queues of the client.
type localOutlet struct {
	mu          sync.Mutex
	handler     LocalHandler
	full        bool // the handler has taken fewer messages than it was given, and Resume was not called since
	closed      bool
	delivered   bool // Deliver was called, and Flush was not since
	roomChanged chan struct{}
	lastTag     string // of deliverStored, so that messages of one tag share the string
}

var _ outlet = (*localOutlet)(nil)

// Lock locks the outlet.
func (o *localOutlet) Lock() { o.mu.Lock() }

// Unlock unlocks the outlet and calls Flush of the handler, if messages were delivered.
func (o *localOutlet) Unlock() {
	flush := o.delivered && !o.closed
	o.delivered = false
	o.mu.Unlock()
	if flush {
		o.handler.Flush()
	}
}

// UnlockLater unlocks the outlet. Flush follows.
func (o *localOutlet) UnlockLater() { o.mu.Unlock() }

// Flush calls Flush of the handler, if messages were delivered.
func (o *localOutlet) Flush() {
	o.mu.Lock()
	o.Unlock()
}

// Nudge does nothing: queues wait for Resume only.
func (o *localOutlet) Nudge() {}

// Room is positive unless the handler has no room.
func (o *localOutlet) Room() int {
	if o.full {
		return 0
	}
	return 1
}

// WaitRoom returns a channel that is closed when there is room again or the client has ended.
func (o *localOutlet) WaitRoom() <-chan struct{} {
	if o.roomChanged == nil {
		o.roomChanged = make(chan struct{})
	}
	return o.roomChanged
}

// Closed reports whether the client has ended.
func (o *localOutlet) Closed() bool { return o.closed }

// deliver passes n frames to the handler. It returns the length and the number of those that it has taken. Those for a client that has
// ended are lost, as those in the socket of a connection.
func (o *localOutlet) deliver(sub *LocalSub, tag string, frames []byte, n int) (taken, count int) {
	if o.closed {
		return len(frames), n
	}
	run := runs.Get().(*Run) //nolint:forcetypeassert // the pool has no other values
	run.tag, run.frames, run.left = tag, frames, n
	count = o.pass(sub, run)
	if count == n {
		return len(frames), n
	}
	for range count {
		taken += native.Size(frames[taken:])
	}
	return taken, count
}

// runs has unused Runs.
var runs = sync.Pool{New: func() any { return new(Run) }}

// pass calls Deliver with a run, which it releases.
func (o *localOutlet) pass(sub *LocalSub, run *Run) int {
	o.delivered = true
	n := run.left
	count := max(min(o.handler.Deliver(sub, run), n), 0)
	*run = Run{}
	runs.Put(run)
	o.full = count < n
	return count
}

// deliverStored passes the message of a durable, which was delivered so many times before. It returns false if the handler has not taken
// it.
func (o *localOutlet) deliverStored(sub *LocalSub, f native.Frame, before uint32) bool {
	if o.closed {
		return false
	}
	v, err := native.ParseStored(f)
	if err != nil {
		return true // impossible: the broker has made f
	}
	if string(v.Tag) != o.lastTag {
		o.lastTag = string(v.Tag)
	}
	run := runs.Get().(*Run) //nolint:forcetypeassert // the pool has no other values
	run.left = 1
	run.stored = Message{
		Tag: o.lastTag, Type: f.Type(), Time: f.Time(), Payload: f.Payload(), Extension: f.Extension(),
		Sequence: v.Sequence, Deliveries: before,
	}
	return o.pass(sub, run) == 1
}

// deliverRecord passes a record. extension is its extension.
func (o *localOutlet) deliverRecord(sub *LocalSub, record *engine.Record, extension []byte) bool {
	run := runs.Get().(*Run) //nolint:forcetypeassert // the pool has no other values
	run.left = 1
	run.stored = Message{
		Tag: record.Tag, Type: record.Type, Time: record.Time, Payload: record.Payload, Extension: extension, Sequence: record.Sequence,
	}
	return o.pass(sub, run) == 1
}

var _ outlet = (*peer.FrameWriter)(nil)

package outlet

import (
	"sync"

	"example.com/ferry"
	"example.com/ferry/protocol/native"
)

// Message is a message that a client in the process publishes or receives.
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

// runs has unused Runs.
var runs = sync.Pool{New: func() any { return new(Run) }}

// deliver passes n frames to the client. It returns the length and the number of those that it has taken.
func (s *Stream) deliver(handle any, tag string, frames []byte, n int) (taken, count int) {
	run := runs.Get().(*Run) //nolint:forcetypeassert // the pool has no other values
	run.tag, run.frames, run.left = tag, frames, n
	if count = s.pass(handle, run); count == n {
		return len(frames), n
	}
	for range count {
		taken += native.Size(frames[taken:])
	}
	return taken, count
}

// DeliverStored passes a message of a stream to the client. It returns false if the client has not taken it. The caller holds the lock.
func (s *Stream) DeliverStored(handle any, m Message) bool {
	run := runs.Get().(*Run) //nolint:forcetypeassert // the pool has no other values
	run.stored, run.left = m, 1
	return s.pass(handle, run) == 1
}

// pass calls Deliver with a run, which it releases.
func (s *Stream) pass(handle any, run *Run) int {
	count := s.Client.Deliver(handle, run)
	*run = Run{}
	runs.Put(run)
	return count
}

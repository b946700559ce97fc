package outlet

import (
	"example.com/ferry/broker/internal/ledger"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// quantum is the most bytes that one Queue adds to a write before the next one has its turn.
const quantum = 64 << 10

// End is where what a Stream is given goes: a peer.FrameWriter, or a Client. What the methods do is in the docstrings of
// peer.FrameWriter.
type End interface {
	Lock()
	Unlock()
	UnlockLater()
	Flush()
	Nudge()
	Room() int
	WaitRoom() <-chan struct{}
	Closed() bool
}

var _ End = (*peer.FrameWriter)(nil)

// Client is the End of a client in the process, which takes messages and no frames.
type Client interface {
	End

	// Deliver passes messages of one subscription, which Sub.Handle names. It returns how many the client has taken. Those for a
	// client that has ended are taken, and lost as those in the socket of a connection.
	Deliver(handle any, run *Run) (taken int)
}

// Stream is one stream to a client. Its fields do not change once a frame was appended.
type Stream struct {
	End
	Wire   *peer.FrameWriter // the End, if the client has a connection
	Client Client            // the End, if the client is in the process
	Calls  Source            // the calls that use the stream; nil if there can be none

	selected  uint32            // subscription to which the client assigns the next PUB
	ready     peer.FIFO[*Queue] // queues that have messages and credit, and wait for room
	resumable []*ledger.Hold    // of queues that are half empty; released after the lock
	waiting   []Waiter
}

// Source is frames that take turns with the Queues of a Stream. The Stream is locked during all calls.
type Source interface {
	Waiting() bool   // reports whether frames wait for room
	Flush(limit int) // moves up to limit bytes of them, or one frame, to the next write
	Discard()        // discards all of them: the connection has ended
}

// Waiter waits for room in a Stream.
type Waiter interface {
	// Unblock says that there is room. It is called without the lock.
	Unblock()
}

// Attach makes w the writer of s. It is called before the first frame is appended.
func (s *Stream) Attach(w *peer.FrameWriter) {
	s.End, s.Wire = w, w
	w.Refill = s.Refill
}

// AwaitRoom makes w be called once when there is room. The caller holds the lock.
func (s *Stream) AwaitRoom(w Waiter) { s.waiting = append(s.waiting, w) }

// Refill moves messages from the queues and frames of calls into the next write, a quantum from each in turn. The caller holds the lock.
// It calls the function that Refill returns, unless that is nil, when it has released it.
func (s *Stream) Refill() func() {
	for calls := s.callsWait(); (calls || s.ready.Len() > 0) && s.Room() > 0; calls = s.callsWait() {
		if calls {
			s.Calls.Flush(quantum)
		}
		if s.ready.Len() == 0 {
			continue
		}
		q := s.ready.Pop()
		q.flush(quantum)
		if q.frames.Bytes() > 0 && q.credit > 0 {
			s.ready.Push(q)
		} else {
			q.scheduled = false
		}
	}
	if len(s.waiting) == 0 || s.Room() <= 0 {
		return s.takeResumable()
	}
	waiting, resume := s.waiting, s.takeResumable()
	s.waiting = nil
	return func() {
		if resume != nil {
			resume()
		}
		for _, w := range waiting {
			w.Unblock()
		}
	}
}

func (s *Stream) callsWait() bool { return s.Calls != nil && s.Calls.Waiting() }

// Select makes the PUBs that follow on the stream belong to a subscription. The caller holds the lock.
func (s *Stream) Select(id uint32) {
	if s.selected != id {
		s.selected = id
		s.Wire.SetTail(native.AppendSelect(s.Wire.Tail(native.HeaderSize+4), id))
	}
}

// Discard discards the frames of calls that wait. It is called after the connection has ended.
func (s *Stream) Discard() {
	if s.Calls != nil {
		s.Lock()
		s.Calls.Discard()
		s.Unlock()
	}
}

// takeResumable returns a function that releases what is in resumable, or nil if there is nothing. That function
// locks the publishers' own streams, so the caller must release the lock first.
func (s *Stream) takeResumable() func() {
	if len(s.resumable) == 0 {
		return nil
	}
	holds := s.resumable
	s.resumable = nil
	return func() {
		for _, h := range holds {
			h.Release()
		}
	}
}

// Release releases the lock, and returns the credit that queues no longer withhold. It adds s to u instead of waking the writing
// goroutine. If u is nil, it wakes the goroutine.
func (s *Stream) Release(u *peer.Unflushed) {
	resume := s.takeResumable()
	u.Unlock(s.End)
	if resume != nil {
		resume()
	}
}

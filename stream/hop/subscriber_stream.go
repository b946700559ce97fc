package hop

import (
	"slices"

	"example.com/ferry/internal/peer"
)

// quantum is how many bytes one delivery queue may add to a write before the next queue has its turn.
const quantum = 64 << 10

// subscriberStream is one stream to a client, with the delivery queues whose messages it carries.
type subscriberStream struct {
	*peer.FrameWriter
	selected  uint32                    // subscription that the client takes the next PUB for
	ready     peer.FIFO[*deliveryQueue] // queues with messages and credit, which wait for room
	resumable []*publisher              // publishers whose credit is released once the lock is
}

// attach makes w the writer of s, before anything is written to it.
func (s *subscriberStream) attach(w *peer.FrameWriter) {
	s.FrameWriter = w
	w.Refill = s.refill
}

// refill moves messages from the delivery queues into the next write, a quantum from each in turn.
func (s *subscriberStream) refill() func() {
	for s.ready.Len() > 0 && s.Room() > 0 {
		q := s.ready.Pop()
		q.flush(quantum)
		if q.frames.Bytes() > 0 && q.credit > 0 {
			s.ready.Push(q)
		} else {
			q.scheduled = false
		}
	}
	return s.takeResumable()
}

// takeResumable returns a function that gives the resumable publishers their credit, or nil. The function locks the
// publishers' own streams, so it must not be called under the lock.
func (s *subscriberStream) takeResumable() func() {
	if len(s.resumable) == 0 {
		return nil
	}
	publishers := s.resumable
	s.resumable = nil
	return func() {
		for _, p := range publishers {
			p.resume()
		}
	}
}

// unlock releases the lock, and then gives the resumable publishers their credit.
func (s *subscriberStream) unlock() {
	resume := s.takeResumable()
	s.Unlock()
	if resume != nil {
		resume()
	}
}

// unflushed is the streams that a batch appended to without waking their writing goroutines. The goroutine that handles the
// batch flushes them after it.
type unflushed []*subscriberStream

// maxUnflushed bounds how many streams one batch flushes. For further streams the writing goroutine is woken at once.
const maxUnflushed = 8

func (u *unflushed) flush() {
	for i, s := range *u {
		s.Flush()
		(*u)[i] = nil
	}
	*u = (*u)[:0]
}

// unlockLater is unlock, but adds s to u instead of waking the writing goroutine. A nil u wakes it.
func (s *subscriberStream) unlockLater(u *unflushed) {
	if u == nil || len(*u) == maxUnflushed {
		s.unlock()
		return
	}
	if !slices.Contains(*u, s) {
		*u = append(*u, s)
	}
	resume := s.takeResumable()
	s.UnlockLater()
	if resume != nil {
		resume()
	}
}

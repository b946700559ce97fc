package broker

import (
	"example.com/ferry/broker/internal/ledger"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// quantum is the most bytes that one delivery queue adds to a write before the next queue has its turn.
const quantum = 64 << 10

// outlet is the end of a subscriberStream: a peer.FrameWriter, or a localOutlet. What the methods do is in the docstrings of
// peer.FrameWriter.
type outlet interface {
	Lock()
	Unlock()
	UnlockLater()
	Flush()
	Nudge()
	Room() int
	WaitRoom() <-chan struct{}
	Closed() bool
}

// subscriberStream is one stream to a client, with the delivery queues that send over it.
type subscriberStream struct {
	outlet
	wire      *peer.FrameWriter         // the outlet, if the client has a connection
	local     *localOutlet              // the outlet, if the client is in the process
	selected  uint32                    // subscription to which the client assigns the next PUB
	ready     peer.FIFO[*deliveryQueue] // queues that have messages and credit, and wait for room
	resumable []*ledger.Hold            // of queues that are half empty; released after the lock
	members   []*member                 // members of durables that wait for room
	*streamCalls
}

// streamCalls is what a stream has for calls; nil for a client in the process, which has none.
type streamCalls struct {
	legs      peer.FIFO[*leg] // legs of calls that have frames and wait for room
	heldBytes int             // bytes of frames in legs
	methods   peer.MethodNumbers
}

// attach makes w the writer of s. It is called before the first frame is appended.
func (s *subscriberStream) attach(w *peer.FrameWriter) {
	s.outlet, s.wire, s.streamCalls = w, w, &streamCalls{}
	s.methods.Limit = maxMethodNumbers
	w.Refill = s.refill
}

// refill moves messages from the delivery queues and frames of calls into the next write, a quantum from each in turn. The function
// that it returns makes durables send to their members that waited for room.
func (s *subscriberStream) refill() func() {
	for s.ready.Len()+s.legsWaiting() > 0 && s.Room() > 0 {
		if s.legsWaiting() > 0 {
			l := s.legs.Pop()
			l.flush(quantum)
			if l.scheduled = l.frames.Bytes() > 0; l.scheduled {
				s.legs.Push(l)
			}
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
	if len(s.members) == 0 || s.Room() <= 0 {
		return s.takeResumable()
	}
	members, resume := s.members, s.takeResumable()
	s.members = nil
	for _, m := range members {
		m.blocked = false
	}
	return func() {
		if resume != nil {
			resume()
		}
		for _, m := range members {
			m.unblock()
		}
	}
}

// legsWaiting returns how many legs of calls wait for room.
func (s *subscriberStream) legsWaiting() int {
	if s.streamCalls == nil {
		return 0
	}
	return s.legs.Len()
}

// selectSub makes the PUBs that follow on the stream belong to a subscription.
func (s *subscriberStream) selectSub(id uint32) {
	if s.selected != id {
		s.selected = id
		s.wire.SetTail(native.AppendSelect(s.wire.Tail(native.HeaderSize+4), id))
	}
}

// dropLegs discards the frames of calls that wait. It is called after the connection has ended.
func (s *subscriberStream) dropLegs() {
	s.Lock()
	defer s.Unlock()
	for s.legsWaiting() > 0 {
		l := s.legs.Pop()
		l.scheduled = false
		l.frames.Clear(func([]byte) {})
	}
	if s.streamCalls != nil {
		s.heldBytes = 0
	}
}

// takeResumable returns a function that releases what is in resumable, or nil if there is nothing. That function
// locks the publishers' own streams, so the caller must release the lock first.
func (s *subscriberStream) takeResumable() func() {
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

// unlock releases the lock and then what is in resumable.
func (s *subscriberStream) unlock() {
	resume := s.takeResumable()
	s.Unlock()
	if resume != nil {
		resume()
	}
}

// unlockLater is unlock, but adds s to u instead of waking the writing goroutine. If u is nil, it wakes the goroutine.
func (s *subscriberStream) unlockLater(u *peer.Unflushed) {
	resume := s.takeResumable()
	u.Unlock(s.outlet)
	if resume != nil {
		resume()
	}
}

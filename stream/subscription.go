package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/protocol/native"
)

// subscription is one filter of a Running function.
type subscription struct {
	running *Running
	pool    *pool
	id      uint32
	frame   native.SubFrame
	first   sync.Once
	result  chan error // of capacity 1: result of the first SUB

	// Of stored subscriptions.
	ackWait atomic.Uint32 // milliseconds, as the node says
	next    atomic.Uint64 // without a durable, sequence number with which the next connection begins; 0 means as frame says
	asked   atomic.Uint64 // next when the last SUB was sent
	mu      sync.Mutex
	member  *membership
	inboxes []*inbox // by shard
}

// request returns the SUB for a connection. On a new connection a subscription without a durable goes on behind the last message
// that it has received, or where it has begun.
func (s *subscription) request(cn *conn) native.SubFrame {
	f := s.frame
	if !f.Stored() {
		return f
	}
	s.mu.Lock()
	s.member = newMembership(cn, s)
	s.mu.Unlock()
	next := s.next.Load()
	s.asked.Store(next)
	if next > 0 && f.Durable == "" {
		f.Start, f.Value = native.StartSequence, next
	}
	return f
}

// memberOn returns the membership on cn, or nil if the subscription is on another connection.
func (s *subscription) memberOn(cn *conn) *membership {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.member == nil || s.member.conn != cn {
		return nil
	}
	return s.member
}

// beatInterval is the time after which the node is told that messages are still handled.
func (s *subscription) beatInterval() time.Duration {
	if ms := s.ackWait.Load(); ms > 0 {
		return max(time.Duration(ms)*time.Millisecond/3, time.Millisecond)
	}
	return defaultAckWait / 3
}

// awaitOutputs waits, for at most closeWait, until what the handlers have sent is stored. Then it sends the last ACKs.
func (s *subscription) awaitOutputs() {
	s.mu.Lock()
	member := s.member
	s.mu.Unlock()
	if member != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeWait)
		defer cancel()
		member.awaitOutputs(ctx)
		member.flush()
	}
}

// errNoStreams refuses a function that reads a stream on a node of an earlier version.
var errNoStreams = errors.New("this node stores no streams: it has an earlier version")

// handleResult handles the node's result of a SUB. SUB is sent again on each new connection, and the node may end a
// subscription with a second result. A later refusal ends the function.
func (s *subscription) handleResult(v native.ResultFrame, refused error) {
	if refused == nil && s.frame.Stored() && !v.Stored {
		refused = errNoStreams
	}
	s.ackWait.Store(v.Value)
	if v.From > 0 {
		s.next.CompareAndSwap(s.asked.Load(), v.From) // messages may have come before, by another stream of the connection
	}
	if refused != nil {
		refused = fmt.Errorf("stream: subscribe to %q: %w", s.frame.Filter, refused)
	}
	first := false
	s.first.Do(func() {
		first = true
		s.result <- refused
	})
	if !first && refused != nil {
		go s.running.stop(refused)
	}
}

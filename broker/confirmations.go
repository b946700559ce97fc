package broker

import (
	"fmt"
	"sync"

	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// maxWaitingPings bounds the PINGs of one stream whose responses wait.
const maxWaitingPings = 1024

// confirmations holds back the responses to the PINGs of one stream of a client until all messages before them are stored.
//
// The runs between two PINGs are an epoch. Its PINGs are answered when it and all epochs before it have no run left.
type confirmations struct {
	session *session

	mu     sync.Mutex
	first  uint64 // number of the first epoch
	epochs peer.FIFO[epoch]
	pings  int // in all epochs
}

type epoch struct {
	runs  int      // that have not ended
	pings []uint64 // values of the PINGs behind the runs
}

// begin adds a run to the current epoch and returns its number. c is nil for a client without a connection.
func (c *confirmations) begin() uint64 {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.epochs.Len() == 0 || c.epochs.Back().pings != nil {
		c.epochs.Push(epoch{})
	}
	c.epochs.Back().runs++
	return c.first + uint64(c.epochs.Len()) - 1
}

// current reports whether no PING has followed the runs of an epoch, which has a run.
func (c *confirmations) current(number uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return number == c.first+uint64(c.epochs.Len())-1 && c.epochs.Back().pings == nil
}

// end ends a run of an epoch. It calls before, and then sends the responses that waited for the run, if there are any.
func (c *confirmations) end(number uint64, before func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epochs.All()[number-c.first].runs--
	for c.epochs.Len() > 0 && c.epochs.Front().runs == 0 {
		e := c.epochs.Pop()
		c.first++
		if len(e.pings) > 0 {
			before()
		}
		for _, value := range e.pings {
			c.session.peer.Pong(value)
		}
		c.pings -= len(e.pings)
	}
}

// ping reports whether the response to a PING can be sent now. Otherwise end sends it.
func (c *confirmations) ping(value uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.epochs.Len() == 0 {
		return true
	}
	if c.pings++; c.pings > maxWaitingPings {
		c.session.peer.Close(&native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("more than %d PINGs wait for messages to be stored", maxWaitingPings)})
		return false
	}
	last := c.epochs.Back()
	last.pings = append(last.pings, value)
	return false
}

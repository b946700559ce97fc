package ledger

import (
	"fmt"

	"example.com/ferry/broker/internal/ranks"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// maxWaitingPings bounds the PINGs of one stream whose responses wait.
const maxWaitingPings = 1024

// Confirmations holds back the responses to the PINGs of one stream of a client until all messages before them are settled. A nil
// Confirmations has no PINGs. All methods may overlap, except that Ping follows the runs that it confirms.
//
// The runs between two PINGs are an epoch. Its PINGs are answered when it and all epochs before it have no run left.
type Confirmations struct {
	pong func(value uint64)

	mu     ranks.Mutex[ranks.Confirmations]
	first  uint64 // number of the first epoch
	epochs peer.FIFO[epoch]
	pings  int // in all epochs
}

type epoch struct {
	runs  int      // that have not ended
	pings []uint64 // values of the PINGs behind the runs
}

// NewConfirmations returns the Confirmations of a stream. pong sends a response.
func NewConfirmations(pong func(value uint64)) *Confirmations { return &Confirmations{pong: pong} }

// Await makes the responses to the PINGs from now on wait until end is called, once. If a response has waited for it, end calls before.
func (c *Confirmations) Await(before func()) (end func()) {
	number := c.begin()
	return func() { c.end(number, before) }
}

// begin adds a run to the current epoch and returns its number.
func (c *Confirmations) begin() uint64 {
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
func (c *Confirmations) current(number uint64) bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return number == c.first+uint64(c.epochs.Len())-1 && c.epochs.Back().pings == nil
}

// end ends a run of an epoch. If responses have waited for the run, it calls before, and then sends them.
func (c *Confirmations) end(number uint64, before func()) {
	if c == nil {
		return
	}
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
			c.pong(value)
		}
		c.pings -= len(e.pings)
	}
}

// Ping reports whether the response to a PING can be sent now. Otherwise it is sent when it can. The error says that too many wait.
func (c *Confirmations) Ping(value uint64) (now bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.epochs.Len() == 0 {
		return true, nil
	}
	if c.pings++; c.pings > maxWaitingPings {
		return false, &native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("more than %d PINGs wait for messages to be stored", maxWaitingPings)}
	}
	last := c.epochs.Back()
	last.pings = append(last.pings, value)
	return false, nil
}

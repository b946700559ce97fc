package http1

import (
	"time"

	"example.com/ferry/loop"
)

// The timers of a client's connection. Those of its request are the Relay's.
const (
	idleTimer = iota // between requests, and until a head is complete
	moveTimer        // until a byte of the last response moves
)

// drainTime is how long a connection that is about to be closed waits for a request that is on its way already.
const drainTime = 20 * time.Millisecond

// idle handles all connections of a loop that are between two requests.
type idle struct {
	loop.Base
	loopState            *loopState
	halfClosed, draining bool
}

var _ loop.Shutdowner = (*idle)(nil)

// Opened counts the connection.
func (h *idle) Opened(c *loop.Conn) {
	s := h.loopState.service.current.Load()
	s.plan.Listener.Opened(h.loopState.index)
	setTimer(c, idleTimer, s.IdleTimeout)
}

// Data begins a request.
func (h *idle) Data(c *loop.Conn, p []byte) int {
	if c.Full() {
		c.PauseReading() // the client sends requests and does not read the responses
		return 0
	}
	d := h.loopState.downstream(c)
	d.halfClosed, d.closing = h.halfClosed, h.draining
	c.StopTimer(idleTimer)
	c.SetHandler(d)
	return d.Data(c, p)
}

// Drained resumes reading from a client that has read its responses.
func (h *idle) Drained(c *loop.Conn) { c.ResumeReading() }

// HalfClosed closes the connection. Its timer still runs, for a client that does not read.
func (h *idle) HalfClosed(c *loop.Conn) { c.CloseWrite() }

// Timer closes an unused connection. One whose client still reads its last response is in use.
func (h *idle) Timer(c *loop.Conn, _ int) {
	switch {
	case h.draining:
		h.loopState.linger.begin(c)
	case h.loopState.stillReads(c):
		setTimer(c, idleTimer, h.loopState.service.current.Load().BodyTimeout)
	default:
		c.Close()
	}
}

// Closed forgets the connection.
func (h *idle) Closed(c *loop.Conn, _ error) { h.loopState.closed(c) }

// Shutdown closes the connection, unless a request has arrived already and is not read yet.
func (h *idle) Shutdown(c *loop.Conn) {
	c.SetHandler(h.loopState.draining)
	c.SetTimer(idleTimer, drainTime)
}

// setTimer sets a timer, unless d is not above 0, which means never.
func setTimer(c *loop.Conn, which int, d time.Duration) {
	if d > 0 {
		c.SetTimer(which, d)
	}
}

// readAgain makes the loop call Data again with the bytes that it has left.
func readAgain(c *loop.Conn) {
	c.PauseReading()
	c.ResumeReading()
}

// resume makes the loop call Data with the bytes that c has left unread, if any, and with those that follow.
func resume(c *loop.Conn) {
	if len(c.Unread()) > 0 {
		c.PauseReading()
	}
	c.ResumeReading()
}

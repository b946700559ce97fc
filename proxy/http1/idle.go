package http1

import (
	"time"

	"example.com/ferry/loop"
)

// The timers of a client's connection. The Relay has the timers of the request.
const (
	idleTimer = iota // time between requests, and time until a head is complete
	moveTimer        // time until a byte of the last response is acknowledged
)

// drainTime is how long a draining connection waits for a request that the client may already have sent: longer than a round trip between
// continents. A client does not send a POST again if its connection is closed meanwhile.
const drainTime = 500 * time.Millisecond

// firstTime is drainTime of a connection that has had no request. Its client is about to send one, and would not send it again if the
// connection were closed.
const firstTime = time.Second

// idle handles all connections of a loop that have no request.
type idle struct {
	loop.Base
	loopState                   *loopState
	fresh, halfClosed, draining bool
}

var _ loop.Shutdowner = (*idle)(nil)

// Opened counts the connection and starts the idle timeout.
func (h *idle) Opened(c *loop.Conn) {
	s := h.loopState.service.current.Load()
	s.plan.Listener.Opened(h.loopState.index)
	setTimer(c, idleTimer, s.IdleTimeout)
}

// Data begins a request.
func (h *idle) Data(c *loop.Conn, p []byte) int {
	if c.Full() {
		c.PauseReading() // the client sends requests but does not read the responses
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

// HalfClosed closes the connection. The timer still runs in case the client does not read the last response.
func (h *idle) HalfClosed(c *loop.Conn) { c.CloseWrite() }

// Timer closes an unused connection. A connection is in use while the client still reads its last response.
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

// Closed removes the connection from the loopState.
func (h *idle) Closed(c *loop.Conn, _ error) { h.loopState.closed(c) }

// Shutdown closes the connection after drainTime, or firstTime. A request that arrives before then is still served.
func (h *idle) Shutdown(c *loop.Conn) {
	wait := drainTime
	if h.fresh {
		wait = firstTime
	}
	c.SetHandler(h.loopState.draining)
	c.SetTimer(idleTimer, wait)
}

// setTimer sets a timer to expire after d. It does nothing if d is zero or negative, which means never.
func setTimer(c *loop.Conn, which int, d time.Duration) {
	if d > 0 {
		c.SetTimer(which, d)
	}
}

// readAgain makes the loop call Data again with the unread bytes.
func readAgain(c *loop.Conn) {
	c.PauseReading()
	c.ResumeReading()
}

// resume resumes reading. If c has unread bytes, the loop calls Data with them first.
func resume(c *loop.Conn) {
	if len(c.Unread()) > 0 {
		c.PauseReading()
	}
	c.ResumeReading()
}

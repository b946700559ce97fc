package http1

import (
	"time"

	"example.com/ferry/loop"
)

// lingerTime is how long a client may go on sending after its last response has left. RFC 9112, section 9.6: closed earlier,
// the connection would be reset, and the client might lose the response.
const lingerTime = 2 * time.Second

// linger handles all connections of a loop whose last response is queued.
type linger struct {
	loop.Base
	loopState *loopState
}

var _ loop.Shutdowner = (*linger)(nil)

// begin ends the connection's output behind what is queued, and waits for the client to end its own.
func (h *linger) begin(c *loop.Conn) {
	c.SetHandler(h)
	c.ResumeReading()
	c.CloseWrite()
	h.loopState.forgetUnsent(c)
	c.SetTimer(idleTimer, lingerTime)
	setTimer(c, moveTimer, h.loopState.service.current.Load().BodyTimeout)
}

// HalfClosed does nothing: the loop closes the connection when the queue is written.
func (h *linger) HalfClosed(*loop.Conn) {}

// Timer closes the connection. A client that still reads has lingerTime behind its last byte, and BodyTimeout for each.
func (h *linger) Timer(c *loop.Conn, which int) {
	switch {
	case which == idleTimer && c.Unsent() > 0:
		c.SetTimer(idleTimer, lingerTime)
	case which == moveTimer && h.loopState.stillReads(c):
		setTimer(c, moveTimer, h.loopState.service.current.Load().BodyTimeout)
	default:
		c.Close()
	}
}

// Closed forgets the connection.
func (h *linger) Closed(c *loop.Conn, _ error) { h.loopState.closed(c) }

// Shutdown does nothing: the connection is about to end.
func (h *linger) Shutdown(*loop.Conn) {}

package http1

import (
	"time"

	"example.com/ferry/loop"
)

// lingerTime is how long a client may keep sending after it has received its last response. If the proxy closed the
// connection earlier, the connection would be reset and the client might lose the response (RFC 9112, section 9.6).
const lingerTime = 2 * time.Second

// linger handles all connections of a loop whose last response is queued.
type linger struct {
	loop.Base
	loopState *loopState
}

var _ loop.Shutdowner = (*linger)(nil)

// begin closes the proxy's side of the connection after the queued bytes, and waits for the client to close the other
// side.
func (h *linger) begin(c *loop.Conn) {
	c.SetHandler(h)
	c.ResumeReading()
	c.CloseWrite()
	h.loopState.forgetUnsent(c)
	c.SetTimer(idleTimer, lingerTime)
	setTimer(c, moveTimer, h.loopState.service.current.Load().BodyTimeout)
}

// HalfClosed does nothing: the loop closes the connection once the queue is written.
func (h *linger) HalfClosed(*loop.Conn) {}

// Timer closes the connection. A client that is still reading gets lingerTime after it has acknowledged the last
// byte, and BodyTimeout for each byte before.
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

// Closed removes the connection from the loopState.
func (h *linger) Closed(c *loop.Conn, _ error) { h.loopState.closed(c) }

// Shutdown does nothing: the connection is already closing.
func (h *linger) Shutdown(*loop.Conn) {}

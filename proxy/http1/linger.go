package http1

import (
	"time"

	"example.com/ferry/loop"
)

// lingerTime is how long a client may go on sending after its last answer has left. RFC 9112, section 9.6: closed earlier, the
// connection would be reset, and the client might lose the answer.
const lingerTime = 2 * time.Second

// linger is the handler of all connections of a share whose last answer is written.
type linger struct {
	loop.Base
	share *share
}

var _ loop.Shutdowner = (*linger)(nil)

// begin ends the connection's output and waits for the client to end its own.
func (h *linger) begin(c *loop.Conn) {
	c.SetHandler(h)
	c.ResumeReading()
	c.CloseWrite()
	h.share.forgetUnsent(c)
	c.SetTimer(idleTimer, lingerTime)
	setTimer(c, moveTimer, h.share.service.current.Load().BodyTimeout)
}

// HalfClosed does nothing: when all is written, the connection ends by itself.
func (h *linger) HalfClosed(*loop.Conn) {}

// Timer closes the connection. A client that still reads has lingerTime behind its last byte, and BodyTimeout for each.
func (h *linger) Timer(c *loop.Conn, which int) {
	switch {
	case which == idleTimer && c.Unsent() > 0:
		c.SetTimer(idleTimer, lingerTime)
	case which == moveTimer && h.share.stillReads(c):
		setTimer(c, moveTimer, h.share.service.current.Load().BodyTimeout)
	default:
		c.Close()
	}
}

// Closed forgets it.
func (h *linger) Closed(c *loop.Conn, _ error) { h.share.gone(c) }

// Shutdown does nothing: the connection is about to end.
func (h *linger) Shutdown(*loop.Conn) {}

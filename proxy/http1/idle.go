package http1

import (
	"time"

	"example.com/ferry/loop"
)

// What the timers of a client's connection are for.
const (
	idleTimer   = iota // between requests, and until a head is whole
	moveTimer          // until a byte moves
	answerTimer        // until the answer's head is there
	tryTimer           // the same for one attempt
)

// partingTime is how long a connection that is to be closed waits for a request that is on its way already.
const partingTime = 20 * time.Millisecond

// idle is the handler of all connections of a share that are between two requests.
type idle struct {
	loop.Base
	share          *share
	ended, parting bool
}

var _ loop.Shutdowner = (*idle)(nil)

// Opened counts the connection.
func (h *idle) Opened(c *loop.Conn) {
	r := h.share.service.current.Load()
	r.plan.Listener.Opened(h.share.index)
	setTimer(c, idleTimer, r.IdleTimeout)
}

// Data is the first bytes of a request.
func (h *idle) Data(c *loop.Conn, p []byte) int {
	if c.Full() {
		c.PauseReading() // it asks on and does not read the answers
		return 0
	}
	s := h.share.session(c)
	s.ended, s.parting = h.ended, h.parting
	c.StopTimer(idleTimer)
	c.SetHandler(s)
	return s.Data(c, p)
}

// Drained has a client go on that has read its answers.
func (h *idle) Drained(c *loop.Conn) { c.ResumeReading() }

// HalfClosed closes the connection. Its timer still runs, for a client that does not read.
func (h *idle) HalfClosed(c *loop.Conn) { c.CloseWrite() }

// Timer closes a connection that is not used. One whose client still reads its last response is in use.
func (h *idle) Timer(c *loop.Conn, _ int) {
	switch {
	case h.parting:
		h.share.linger.begin(c)
	case h.share.stillReads(c):
		setTimer(c, idleTimer, h.share.service.current.Load().BodyTimeout)
	default:
		c.Close()
	}
}

// Closed forgets it.
func (h *idle) Closed(c *loop.Conn, _ error) { h.share.gone(c) }

// Shutdown closes a connection, unless a request has come already that is only not read yet.
func (h *idle) Shutdown(c *loop.Conn) {
	c.SetHandler(h.share.parting)
	c.SetTimer(idleTimer, partingTime)
}

// setTimer sets a timer unless it is never to go off.
func setTimer(c *loop.Conn, which int, d time.Duration) {
	if d > 0 {
		c.SetTimer(which, d)
	}
}

// again has Data called once more with what it has left.
func again(c *loop.Conn) {
	c.PauseReading()
	c.ResumeReading()
}

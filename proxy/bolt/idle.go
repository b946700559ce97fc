package bolt

import (
	"time"

	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/bolt"
)

// The timers of a client's connection.
const (
	idleTimer       = iota
	frameTimer      // bounds the time from a frame's first byte to its last
	closeTimer      // bounds the phases in which the connection is closing
	slowClientTimer // bounds the time in which the client reads none of its responses
)

// idleDrainTime is how long a draining connection waits for a request that the client may already have sent: longer than a round trip between
// continents. A connection that has had no request waits for drainTime: its client is about to send one.
const idleDrainTime = 500 * time.Millisecond

// idleHandler handles all connections of one loop and one dialect that have nothing in flight. Such a connection
// needs no object of its own.
type idleHandler struct {
	loopState *loopState
	dialect   wire.Dialect
	draining  bool // the connection is about to be closed
}

var _ loop.Shutdowner = (*idleHandler)(nil)

func (h *idleHandler) Opened(c *loop.Conn) {
	st := h.loopState.service.settings.Load()
	st.plan.Listener.Opened(h.loopState.loop.Index())
	h.startTimer(c, st)
}

func (h *idleHandler) startTimer(c *loop.Conn, st *settings) {
	if st.config.IdleTimeout > 0 {
		c.SetTimer(idleTimer, st.config.IdleTimeout)
	}
}

func (h *idleHandler) Data(c *loop.Conn, p []byte) int {
	s := h.loopState.newSession(c, h.dialect)
	c.SetHandler(s)
	if h.draining {
		s.enter(phaseDraining)
		c.SetTimer(closeTimer, drainTime)
	}
	return s.Data(c, p)
}

func (h *idleHandler) Drained(*loop.Conn) {}

func (h *idleHandler) HalfClosed(c *loop.Conn) { c.Close() }

func (h *idleHandler) Timer(c *loop.Conn, which int) {
	if which == idleTimer {
		c.Close()
	}
}

func (h *idleHandler) Closed(*loop.Conn, error) { h.loopState.clientClosed() }

// Shutdown closes the connection after idleDrainTime, or drainTime. A request that arrives before then is still served.
func (h *idleHandler) Shutdown(c *loop.Conn) {
	if h.draining {
		return
	}
	wait := idleDrainTime
	if h.dialect == 0 {
		wait = drainTime
	}
	c.SetHandler(&h.loopState.draining[dialectIndex(h.dialect)])
	c.SetTimer(idleTimer, wait)
}

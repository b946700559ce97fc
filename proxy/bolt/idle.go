package bolt

import (
	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/bolt"
)

// The timers of a client's connection.
const (
	idleTimer = iota
	frameTimer
	leaveTimer
	takeTimer // until the client takes some of its answers
)

// idle handles all connections of one loop and dialect that have nothing in flight: there is no object for each.
type idle struct {
	worker  *worker
	dialect wire.Dialect
}

var _ loop.Shutdowner = (*idle)(nil)

func (h *idle) Opened(c *loop.Conn) {
	st := h.worker.service.setup.Load()
	st.plan.Listener.Opened(h.worker.loop.Index())
	h.rest(c, st)
}

// rest has c closed unless something happens in time.
func (h *idle) rest(c *loop.Conn, st *setup) {
	if st.cfg.IdleTimeout > 0 {
		c.SetTimer(idleTimer, st.cfg.IdleTimeout)
	}
}

func (h *idle) Data(c *loop.Conn, p []byte) int {
	s := h.worker.newSession(c, h.dialect)
	c.SetHandler(s)
	return s.Data(c, p)
}

func (h *idle) Drained(*loop.Conn) {}

func (h *idle) HalfClosed(c *loop.Conn) { c.Close() }

func (h *idle) Timer(c *loop.Conn, which int) {
	if which == idleTimer {
		c.Close()
	}
}

func (h *idle) Closed(*loop.Conn, error) { h.worker.gone() }

func (h *idle) Shutdown(c *loop.Conn) { c.Close() }

// gone counts a client that left.
func (w *worker) gone() {
	w.service.setup.Load().plan.Listener.Closed(w.loop.Index())
}

package bolt

import (
	"sync/atomic"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
)

// Free objects beyond these are left to the garbage collector.
const (
	keepSessions = 1 << 10
	keepRequests = 1 << 13
)

// worker is one loop's share of a Service.
type worker struct {
	service *Service
	loop    *loop.Loop
	idle    [4]idle // by the place of the dialect

	sessions []*session // free
	requests []*request // free
	active   int        // sessions in use

	setup   *setup // what matcher was made for
	matcher *route.Matcher
	asked   route.Request
	header  values
	entry   traffic.Entry
	scratch []byte
	late    atomic.Int64
	_       [64]byte // the next loop's worker lies on another cache line
}

func (w *worker) begin(s *Service) {
	w.service = s
	for i := range w.idle {
		w.idle[i] = idle{worker: w, dialect: dialects[i]}
	}
}

// dialects are in the order of everything that is kept for each. The first stands for a connection without a frame yet.
var dialects = [...]wire.Dialect{0, wire.V1, wire.V2, wire.V2CRC}

// place is where in such an order d stands.
func place(d wire.Dialect) int {
	switch d {
	case wire.V1:
		return 1
	case wire.V2:
		return 2
	case wire.V2CRC:
		return 3
	}
	return 0
}

// now returns what Use has put in place, with the matcher ready for it.
func (w *worker) now() *setup {
	now := w.service.setup.Load()
	if now != w.setup {
		w.setup, w.matcher = now, now.plan.Table.NewMatcher()
	}
	return now
}

func (w *worker) newSession(c *loop.Conn, d wire.Dialect) *session {
	var s *session
	if n := len(w.sessions); n > 0 {
		s, w.sessions = w.sessions[n-1], w.sessions[:n-1]
	} else {
		s = &session{worker: w}
	}
	w.active++
	s.client, s.dialect = c, d
	return s
}

func (w *worker) freeSession(s *session) {
	*s = session{worker: w}
	w.active--
	if bufpool.Reuse && len(w.sessions) < keepSessions {
		w.sessions = append(w.sessions, s)
	}
}

func (w *worker) newRequest() *request {
	if n := len(w.requests); n > 0 {
		r := w.requests[n-1]
		w.requests = w.requests[:n-1]
		return r
	}
	return &request{}
}

func (w *worker) freeRequest(r *request) {
	if r.copy != nil {
		r.copy.Release()
	}
	*r = request{called: r.called[:0], method: r.method[:0]}
	if bufpool.Reuse && len(w.requests) < keepRequests {
		w.requests = append(w.requests, r)
	}
}

package bolt

import (
	"sync/atomic"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
)

// The capacities of the free lists. Further objects are left to the garbage collector.
const (
	maxFreeSessions = 1 << 10
	maxFreeRequests = 1 << 13
)

// loopState is the part of a Service that belongs to one event loop.
type loopState struct {
	service  *Service
	loop     *loop.Loop
	idle     [4]idleHandler // indexed by dialectIndex
	draining [4]idleHandler // the same, of connections that are about to be closed

	freeSessions bufpool.List[session]
	freeRequests bufpool.List[request]
	active       int // number of sessions in use

	settings      *settings // settings that matcher was made for
	matcher       *route.Matcher
	matchInput    route.Request
	matchHeader   headerValues
	logEntry      traffic.Entry
	scratch       []byte
	lateResponses atomic.Int64
	_             [64]byte // keeps the states of two loops on different cache lines
}

func (ls *loopState) init(s *Service) {
	ls.service = s
	for i := range ls.idle {
		ls.idle[i] = idleHandler{loopState: ls, dialect: dialects[i]}
		ls.draining[i] = idleHandler{loopState: ls, dialect: dialects[i], draining: true}
	}
}

// dialects lists the dialects in the order of arrays indexed by dialectIndex. The first element stands for a
// connection that has received no frame yet.
var dialects = [...]wire.Dialect{0, wire.V1, wire.V2, wire.V2CRC}

// dialectIndex returns the index of d in dialects.
func dialectIndex(d wire.Dialect) int {
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

// currentSettings returns the settings for a new frame. It updates the matcher if the settings have changed.
func (ls *loopState) currentSettings() *settings {
	now := ls.service.settings.Load()
	if now != ls.settings {
		ls.settings, ls.matcher = now, now.plan.Table.NewMatcher()
	}
	return now
}

func (ls *loopState) newSession(c *loop.Conn, d wire.Dialect) *session {
	s := ls.freeSessions.Take()
	if s == nil {
		s = &session{loopState: ls}
	}
	ls.active++
	s.client, s.dialect = c, d
	return s
}

func (ls *loopState) freeSession(s *session) {
	*s = session{loopState: ls}
	ls.active--
	ls.freeSessions.Put(s, maxFreeSessions)
}

func (ls *loopState) newRequest() *request {
	if r := ls.freeRequests.Take(); r != nil {
		return r
	}
	return &request{}
}

func (ls *loopState) freeRequest(r *request) {
	r.replay.Release()
	*r = request{service: r.service[:0], method: r.method[:0]}
	ls.freeRequests.Put(r, maxFreeRequests)
}

// clientClosed counts that a client's connection has closed.
func (ls *loopState) clientClosed() {
	ls.service.settings.Load().plan.Listener.Closed(ls.loop.Index())
}

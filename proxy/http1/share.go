package http1

import (
	"example.com/ferry/loop"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"

	wire "example.com/ferry/protocol/http1"
)

const (
	keepSessions = 1024 // as many as requests are under way in one loop
	keepMatchers = 64
)

// share is one loop's part of a Service. Only that loop touches it.
type share struct {
	service *Service
	index   int

	idle    *idle   // of connections between two requests
	ended   *idle   // whose client has ended its side: what it has sent is still answered
	parting *idle   // that are to be closed
	linger  *linger // that are being closed

	sessions []*session // free ones
	matchers []*route.Matcher
	table    *route.Table // that matchers are of
	visits   map[*loop.Conn]visit
	scratch  []byte // for heads to write
	request  wire.RequestEdit
	response wire.ResponseEdit
	entry    traffic.Entry
}

// visit is what a connection is remembered by between its requests, if there is something to remember.
type visit struct {
	addr     string // the client's, without a port
	requests int
	unsent   int // bytes of responses that the client had not acknowledged when stillReads was last called
}

func newShare(s *Service, index int) *share {
	sh := &share{service: s, index: index, visits: map[*loop.Conn]visit{}}
	sh.idle = &idle{share: sh}
	sh.ended = &idle{share: sh, ended: true}
	sh.parting = &idle{share: sh, parting: true}
	sh.linger = &linger{share: sh}
	return sh
}

// session returns a session for a request that begins on c.
func (sh *share) session(c *loop.Conn) *session {
	var s *session
	if n := len(sh.sessions); n > 0 {
		s = sh.sessions[n-1]
		sh.sessions = sh.sessions[:n-1]
	} else {
		s = &session{share: sh}
		s.back.s = s
		s.kept.b = s.kept.small[:0]
	}
	if len(sh.visits) > 0 {
		sh.forgetUnsent(c)
	}
	s.rules = sh.service.current.Load()
	s.client, s.phase = c, atHead
	s.x.Begin(s.rules.plan, c.Loop())
	return s
}

// matcher returns a Matcher for a request that goes by t.
func (sh *share) matcher(t *route.Table) *route.Matcher {
	if sh.table != t {
		clear(sh.matchers)
		sh.table, sh.matchers = t, sh.matchers[:0]
	}
	if n := len(sh.matchers); n > 0 {
		m := sh.matchers[n-1]
		sh.matchers = sh.matchers[:n-1]
		return m
	}
	return t.NewMatcher()
}

// free takes a Matcher of t back.
func (sh *share) free(m *route.Matcher, t *route.Table) {
	if t == sh.table && len(sh.matchers) < keepMatchers {
		sh.matchers = append(sh.matchers, m)
	}
}

// stillReads reports whether the client still takes the response that the connection holds: whether it has acknowledged bytes
// since the last call, or there was none.
func (sh *share) stillReads(c *loop.Conn) bool {
	unsent := c.Unsent()
	if unsent == 0 {
		return false
	}
	v := sh.visits[c]
	progress := v.unsent == 0 || unsent < v.unsent
	v.unsent = unsent
	sh.visits[c] = v
	return progress
}

// forgetUnsent has stillReads begin anew, for another response.
func (sh *share) forgetUnsent(c *loop.Conn) {
	if v, ok := sh.visits[c]; ok && v.unsent != 0 {
		v.unsent = 0
		sh.visits[c] = v
	}
}

// gone forgets a client's connection.
func (sh *share) gone(c *loop.Conn) {
	sh.service.current.Load().plan.Listener.Closed(sh.index)
	delete(sh.visits, c)
}

package http1

import (
	"example.com/ferry/loop"
	"example.com/ferry/proxy/route"

	wire "example.com/ferry/protocol/http1"
)

const (
	maxFreeDownstreams = 1024 // as many as requests are under way in one loop
	maxFreeMatchers    = 64
)

// loopState is what a Service keeps for one loop. Only that loop uses it.
type loopState struct {
	service *Service
	index   int

	idle       *idle   // handles connections between two requests
	halfClosed *idle   // the same, where the client has ended its side: what it has sent is still answered
	draining   *idle   // the same, where the connection is about to be closed
	linger     *linger // handles connections behind their last response

	free     []*downstreamSide
	matchers []*route.Matcher     // free ones
	table    *route.Table         // of matchers
	visits   map[*loop.Conn]visit // of connections that have something to remember
	scratch  []byte               // for heads to write
	edit     wire.ResponseEdit
}

// visit is what is remembered of a connection between its requests.
type visit struct {
	addr     string // the client's, without a port
	requests int
	unsent   int // bytes of responses that the client had not acknowledged when stillReads was last called
}

func newLoopState(s *Service, index int) *loopState {
	ls := &loopState{service: s, index: index, visits: map[*loop.Conn]visit{}}
	ls.idle = &idle{loopState: ls}
	ls.halfClosed = &idle{loopState: ls, halfClosed: true}
	ls.draining = &idle{loopState: ls, draining: true}
	ls.linger = &linger{loopState: ls}
	return ls
}

// downstream returns a downstream side for a request that begins on c.
func (ls *loopState) downstream(c *loop.Conn) *downstreamSide {
	var d *downstreamSide
	if n := len(ls.free); n > 0 {
		d = ls.free[n-1]
		ls.free = ls.free[:n-1]
	} else {
		d = &downstreamSide{loopState: ls}
		d.relay.Init(d, c.Loop())
	}
	if len(ls.visits) > 0 {
		ls.forgetUnsent(c)
	}
	d.settings = ls.service.current.Load()
	d.client = c
	d.enter(readingHead)
	d.relay.Begin(d.settings.plan, d.settings.timeouts)
	return d
}

// matcher returns a Matcher for a request that is routed by t.
func (ls *loopState) matcher(t *route.Table) *route.Matcher {
	if ls.table != t {
		clear(ls.matchers)
		ls.table, ls.matchers = t, ls.matchers[:0]
	}
	if n := len(ls.matchers); n > 0 {
		m := ls.matchers[n-1]
		ls.matchers = ls.matchers[:n-1]
		return m
	}
	return t.NewMatcher()
}

// freeMatcher takes a Matcher of t back.
func (ls *loopState) freeMatcher(m *route.Matcher, t *route.Table) {
	if t == ls.table && len(ls.matchers) < maxFreeMatchers {
		ls.matchers = append(ls.matchers, m)
	}
}

// stillReads reports whether the client still takes the response that the connection holds: whether it has acknowledged bytes
// since the last call, or this is the first one.
func (ls *loopState) stillReads(c *loop.Conn) bool {
	unsent := c.Unsent()
	if unsent == 0 {
		return false
	}
	v := ls.visits[c]
	progress := v.unsent == 0 || unsent < v.unsent
	v.unsent = unsent
	ls.visits[c] = v
	return progress
}

// forgetUnsent makes the next call of stillReads the first one, for another response.
func (ls *loopState) forgetUnsent(c *loop.Conn) {
	if v, ok := ls.visits[c]; ok && v.unsent != 0 {
		v.unsent = 0
		ls.visits[c] = v
	}
}

// closed forgets a client's connection.
func (ls *loopState) closed(c *loop.Conn) {
	ls.service.current.Load().plan.Listener.Closed(ls.index)
	delete(ls.visits, c)
}

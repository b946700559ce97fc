package http2

import (
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"

	wire "example.com/ferry/protocol/http2"
)

const maxFreeDownstreams = 1024 // free objects per loop: about as many as a loop has requests in progress

// loopState is the part of a Service that belongs to one loop. Only that loop uses it.
type loopState struct {
	service *Service

	free     bufpool.List[downstreamSide]
	matchers route.Matchers
	scratch  []byte // buffer for copies of heads and for values of fields
	fields   fieldWriter
	clock    exchange.Clock
}

func newLoopState(s *Service) *loopState {
	ls := &loopState{service: s}
	ls.fields.init()
	return ls
}

// downstream returns a downstreamSide for a request that begins on stream s of cc.
func (ls *loopState) downstream(cc *clientConn, s *wire.Stream) *downstreamSide {
	d := ls.free.Take()
	if d == nil {
		d = &downstreamSide{loopState: ls}
		d.relay.Init(d, cc.conn.Loop())
		d.relay.Matchers = &ls.matchers
	}
	d.settings = ls.service.current.Load()
	d.client, d.stream = cc, s
	s.User = d
	d.relay.Begin(d.settings.plan, d.settings.timeouts)
	d.relay.TLS = cc.tls
	return d
}

// closed counts the end of a client's connection.
func (ls *loopState) closed(c *loop.Conn) {
	ls.service.current.Load().plan.Listener.Closed(c.Loop().Index())
}

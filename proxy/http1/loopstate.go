package http1

import (
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"

	wire "example.com/ferry/protocol/http1"
)

const maxFreeDownstreams = 1024 // free objects per loop: about as many as a loop has requests in progress

// loopState is the part of a Service that belongs to one loop. Only that loop uses it.
type loopState struct {
	service *Service
	index   int

	fresh      *idle   // handles connections that have had no request
	idle       *idle   // handles connections between two requests
	halfClosed *idle   // handles idle connections whose client has closed its side; requests already sent are still served
	draining   *idle   // handles idle connections that are about to be closed
	linger     *linger // handles connections whose last response is queued

	free      bufpool.List[downstreamSide]
	matchers  route.Matchers
	connInfos map[*loop.Conn]connInfo // entries exist only for connections that need one
	scratch   []byte                  // buffer for building response heads
	edit      wire.ResponseEdit
	fields    neutralFields
	clock     exchange.Clock
}

// connInfo holds the data of a connection that must survive from one request to the next.
type connInfo struct {
	addr     string // the client's address without a port
	requests int
	unsent   int // response bytes that the client had not acknowledged when stillReads was last called
}

func newLoopState(s *Service, index int) *loopState {
	ls := &loopState{service: s, index: index, connInfos: map[*loop.Conn]connInfo{}}
	ls.fresh = &idle{loopState: ls, fresh: true}
	ls.idle = &idle{loopState: ls}
	ls.halfClosed = &idle{loopState: ls, halfClosed: true}
	ls.draining = &idle{loopState: ls, draining: true}
	ls.linger = &linger{loopState: ls}
	ls.fields.init()
	return ls
}

// downstream returns a downstreamSide for a request that begins on c.
func (ls *loopState) downstream(c *loop.Conn) *downstreamSide {
	d := ls.free.Take()
	if d == nil {
		d = &downstreamSide{loopState: ls}
		d.relay.Init(d, c.Loop())
		d.relay.Matchers = &ls.matchers
	}
	if len(ls.connInfos) > 0 {
		ls.forgetUnsent(c)
	}
	d.settings = ls.service.current.Load()
	d.client = c
	d.enter(readingHead)
	d.relay.Begin(d.settings.plan, d.settings.timeouts)
	d.relay.TLS = exchange.ClientTLS(c)
	if d.settings.plan.Log != nil {
		d.ClientAddr() // when the client has left, its address is not known any more
	}
	return d
}

// stillReads reports whether the client is still reading its last response: it has acknowledged bytes since the
// previous call. The first call reports true if any byte is not acknowledged yet.
func (ls *loopState) stillReads(c *loop.Conn) bool {
	unsent := c.Unsent()
	if unsent == 0 {
		return false
	}
	v := ls.connInfos[c]
	progress := v.unsent == 0 || unsent < v.unsent
	v.unsent = unsent
	ls.connInfos[c] = v
	return progress
}

// forgetUnsent makes the next call of stillReads a first call, because another response begins.
func (ls *loopState) forgetUnsent(c *loop.Conn) {
	if v, ok := ls.connInfos[c]; ok && v.unsent != 0 {
		v.unsent = 0
		ls.connInfos[c] = v
	}
}

// closed counts the end of a client's connection and deletes its data.
func (ls *loopState) closed(c *loop.Conn) {
	ls.service.current.Load().plan.Listener.Closed(ls.index)
	delete(ls.connInfos, c)
}

// ClientAddr returns the client's address without a port, or an empty string if there is none. Its text is made only
// once per connection.
func (d *downstreamSide) ClientAddr() string {
	v := d.loopState.connInfos[d.client]
	if v.addr == "" {
		v.addr = d.client.RemoteIP()
		d.loopState.connInfos[d.client] = v
	}
	return v.addr
}

// lastRequest counts a request of the connection. It reports whether the connection has reached MaxRequests.
func (d *downstreamSide) lastRequest() bool {
	if d.settings.MaxRequests == 0 {
		return false
	}
	v := d.loopState.connInfos[d.client]
	v.requests++
	d.loopState.connInfos[d.client] = v
	return v.requests >= d.settings.MaxRequests
}

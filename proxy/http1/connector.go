package http1

import (
	"sync/atomic"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/proxy/exchange"

	wire "example.com/ferry/protocol/http1"
)

// Connector opens the server's side of requests in HTTP/1.1. All Connectors of this protocol share the connections of
// a loop. Any goroutine may call Use.
type Connector struct {
	limits atomic.Pointer[wire.Limits] // limits of responses
	loops  []*connectorLoop
}

var _ exchange.Connector = (*Connector)(nil)

// connectorLoop is the part of a Connector that belongs to one loop. Only that loop uses it.
type connectorLoop struct {
	connector *Connector
	free      bufpool.List[upstreamSide]
	heads     bufpool.List[wire.Head] // free ones: a request that waits for its response needs none
	scratch   []byte                  // buffer for building request heads
	edit      wire.RequestEdit
	fields    neutralFields
}

// NewConnector creates a Connector for a loop group. loops is the number of loops.
func NewConnector(limits *wire.Limits, loops int) *Connector {
	c := &Connector{}
	for range loops {
		cl := &connectorLoop{connector: c}
		cl.fields.init()
		c.loops = append(c.loops, cl)
	}
	c.Use(limits)
	return c
}

// Use applies limits to responses that begin from now on. MaxBody is ignored: a response may have any length. Nil
// means defaults. Use copies limits.
func (c *Connector) Use(limits *wire.Limits) {
	l := wire.Limits{}
	if limits != nil {
		l = *limits
	}
	l.MaxBody = 0
	c.limits.Store(&l)
}

// Open assigns r a connection to r.Endpoint, or adds r to the requests that wait for one.
func (c *Connector) Open(r *exchange.Relay, fresh bool) (up exchange.Upstream, ready bool) {
	l := r.Loop()
	u := c.loops[l.Index()].get()
	u.relay, u.pool = r, poolOf(r.Endpoint, l)
	if !u.pool.assign(u, fresh) {
		u.release()
		return nil, false
	}
	return u, u.state != waiting
}

func (cl *connectorLoop) get() *upstreamSide {
	if u := cl.free.Take(); u != nil {
		return u
	}
	return &upstreamSide{owner: cl}
}

// getHead returns a Head for a response that begins.
func (cl *connectorLoop) getHead() *wire.Head {
	if h := cl.heads.Take(); h != nil {
		return h
	}
	return new(wire.Head)
}

func (cl *connectorLoop) putHead(h *wire.Head) {
	h.Reset()
	cl.heads.Put(h, maxFreeDownstreams)
}

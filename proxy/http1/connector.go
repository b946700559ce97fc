package http1

import (
	"sync/atomic"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/proxy/exchange"

	wire "example.com/ferry/protocol/http1"
)

const (
	maxFreeUpstreams = maxFreeDownstreams
	maxFreeHeads     = maxFreeDownstreams
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
	free      []*upstreamSide
	heads     []*wire.Head // free ones: a request that waits for its response needs none
	scratch   []byte       // buffer for building request heads
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
	if n := len(cl.free); n > 0 {
		u := cl.free[n-1]
		cl.free = cl.free[:n-1]
		return u
	}
	return &upstreamSide{owner: cl}
}

// getHead returns a Head for a response that begins.
func (cl *connectorLoop) getHead() *wire.Head {
	n := len(cl.heads)
	if n == 0 {
		return new(wire.Head)
	}
	h := cl.heads[n-1]
	cl.heads = cl.heads[:n-1]
	return h
}

func (cl *connectorLoop) putHead(h *wire.Head) {
	if bufpool.Reuse && len(cl.heads) < maxFreeHeads {
		h.Reset()
		cl.heads = append(cl.heads, h)
	}
}

func (cl *connectorLoop) put(u *upstreamSide) {
	if bufpool.Reuse && len(cl.free) < maxFreeUpstreams {
		cl.free = append(cl.free, u)
	}
}

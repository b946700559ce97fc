package http2

import (
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/proxy/exchange"

	wire "example.com/ferry/protocol/http2"
)

// maxFreeUpstreams is the number of free objects per loop: about as many as a loop has requests in progress.
const maxFreeUpstreams = 1 << 13

// Connector opens the server's side of requests in HTTP/2. All Connectors of this protocol share the connections of a
// loop. Any goroutine may create one. Open belongs to the loop of its Relay.
type Connector struct {
	loops []connectorLoop
}

var _ exchange.Connector = (*Connector)(nil)

// connectorLoop is the part of a Connector that belongs to one loop. Only that loop uses it.
type connectorLoop struct {
	free    bufpool.List[upstreamSide]
	scratch []byte // buffer for a path, or for the value of a field
	fields  requestFields
	_       [64]byte
}

// NewConnector creates a Connector for a loop group. loops is the number of loops.
func NewConnector(loops int) *Connector {
	c := &Connector{loops: make([]connectorLoop, loops)}
	for i := range c.loops {
		c.loops[i].fields.init()
	}
	return c
}

// clientConfig configures the connections to servers. A server may send a stream's window ahead of its client.
var clientConfig = wire.Config{StreamWindow: 64 << 10, ConnWindow: 1 << 20, MaxHeader: 64 << 10, MaxFields: 256}

// Open opens a stream to r.Endpoint for r, or adds r to the requests that wait for one.
func (c *Connector) Open(r *exchange.Relay, fresh bool) (up exchange.Upstream, ready bool) {
	l := r.Loop()
	u := c.loops[l.Index()].get()
	u.relay, u.pool, u.tunnel = r, poolOf(r.Endpoint, l), r.Changes.Upgrade
	u.size = r.HeadSize(&u.owner.fields.request)
	if u.pool.refusesHead(u.size) {
		r.RefuseHead()
		u.release()
		return nil, false
	}
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

// Negotiator is the Connector of clusters whose servers choose the protocol in TLS (ALPN, RFC 7301). What a server has
// chosen is remembered for its endpoint. Until it is known, requests wait for the first connection. If the server has chosen
// HTTP/1.1, that connection is closed: the pool of HTTP/1.1 opens its own.
type Negotiator struct {
	http1 exchange.Connector
	http2 *Connector
}

var _ exchange.Connector = (*Negotiator)(nil)

// NewNegotiator creates a Negotiator from the Connectors of both protocols.
func NewNegotiator(http1 exchange.Connector, http2 *Connector) *Negotiator {
	return &Negotiator{http1: http1, http2: http2}
}

// Open opens an Upstream of the protocol that the server has chosen, or adds r to the requests that wait for the choice.
func (n *Negotiator) Open(r *exchange.Relay, fresh bool) (up exchange.Upstream, ready bool) {
	l := r.Loop()
	if r.Endpoint.SpeaksHTTP1(l.Now()) {
		r.HeadSize(&n.http2.loops[l.Index()].fields.request) // the next attempt may go to a server of HTTP/2, and the head is gone then
		return n.http1.Open(r, fresh)
	}
	poolOf(r.Endpoint, l).fallback = n.http1
	return n.http2.Open(r, fresh)
}

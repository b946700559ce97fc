package http2

import "example.com/ferry/proxy/exchange"

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

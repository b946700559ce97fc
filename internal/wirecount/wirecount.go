// Package wirecount counts the bytes that cross a transport, so that a measurement can tell that its calls went over the transport that it names.
package wirecount

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"

	"example.com/ferry/transport"
)

// Transport counts the dialed connections, and the bytes of all their streams.
type Transport struct {
	transport.Transport
	*Counts
}

// Counts are those of a Transport so far. They may be read while it is used.
type Counts struct{ Dials, Written, Read atomic.Int64 }

// New returns t with counts.
func New(t transport.Transport) *Transport { return &Transport{t, new(Counts)} }

// Dial implements transport.Transport.
func (t *Transport) Dial(ctx context.Context, addr string) (transport.Conn, error) {
	c, err := t.Transport.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	t.Dials.Add(1)
	first := countedStream{c, t.Counts}
	multi, isMulti := c.(transport.Multi)
	secured, isSecured := c.(transport.Secured)
	switch {
	case isMulti && isSecured:
		return &countedMulti{countedSecured{first, secured}, multi}, nil
	case isSecured:
		return &countedSecured{first, secured}, nil
	}
	return &first, nil
}

// WithALPN implements transport.Negotiator.
func (t *Transport) WithALPN(protocols ...string) transport.Transport {
	if n, ok := t.Transport.(transport.Negotiator); ok {
		return &Transport{n.WithALPN(protocols...), t.Counts}
	}
	return t
}

// countedStream counts one stream.
type countedStream struct {
	net.Conn
	counts *Counts
}

func (c *countedStream) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.counts.Read.Add(int64(n))
	return n, err
}

func (c *countedStream) Write(p []byte) (int, error) {
	c.counts.Written.Add(int64(len(p))) // first: the response may be read before Write returns
	n, err := c.Conn.Write(p)
	c.counts.Written.Add(int64(n - len(p)))
	return n, err
}

func (c *countedStream) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

type countedSecured struct {
	countedStream
	secured transport.Secured
}

func (c *countedSecured) ConnectionState() tls.ConnectionState { return c.secured.ConnectionState() }

type countedMulti struct {
	countedSecured
	multi transport.Multi
}

func (c *countedMulti) OpenStream(ctx context.Context) (net.Conn, error) {
	return c.stream(c.multi.OpenStream(ctx))
}

func (c *countedMulti) AcceptStream(ctx context.Context) (net.Conn, error) {
	return c.stream(c.multi.AcceptStream(ctx))
}

func (c *countedMulti) stream(s net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	return &countedStream{s, c.counts}, nil
}

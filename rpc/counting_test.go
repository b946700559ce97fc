package rpc_test

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"

	"example.com/ferry/transport"
)

// counting is a transport that counts the bytes of dialed connections, of all their streams.
type counting struct {
	transport.Transport
	counts *byteCounts
}

type byteCounts struct{ dials, written, read atomic.Int64 }

func newCounting(t transport.Transport) *counting { return &counting{t, new(byteCounts)} }

func (t *counting) Dial(ctx context.Context, addr string) (transport.Conn, error) {
	c, err := t.Transport.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	t.counts.dials.Add(1)
	first := countedStream{c, t.counts}
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
func (t *counting) WithALPN(protocols ...string) transport.Transport {
	if n, ok := t.Transport.(transport.Negotiator); ok {
		return &counting{n.WithALPN(protocols...), t.counts}
	}
	return t
}

// countedStream counts one stream.
type countedStream struct {
	net.Conn
	counts *byteCounts
}

func (c *countedStream) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.counts.read.Add(int64(n))
	return n, err
}

func (c *countedStream) Write(p []byte) (int, error) {
	c.counts.written.Add(int64(len(p))) // first: the response may be read before Write returns
	n, err := c.Conn.Write(p)
	c.counts.written.Add(int64(n - len(p)))
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

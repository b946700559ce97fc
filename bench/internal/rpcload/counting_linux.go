package rpcload

import (
	"context"
	"net"
	"sync/atomic"

	"example.com/ferry/transport"
)

// counting is a transport that counts the bytes of dialed connections, of all their streams.
type counting struct {
	transport.Transport
	bytes atomic.Int64 // both ways
}

func (t *counting) Dial(ctx context.Context, addr string) (transport.Conn, error) {
	c, err := t.Transport.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	if multi, ok := c.(transport.Multi); ok {
		return &countedMulti{countedConn{c, &t.bytes}, multi}, nil
	}
	return &countedConn{c, &t.bytes}, nil
}

type countedConn struct {
	net.Conn
	bytes *atomic.Int64
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

func (c *countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.bytes.Add(int64(n))
	return n, err
}

type countedMulti struct {
	countedConn
	multi transport.Multi
}

func (c *countedMulti) OpenStream(ctx context.Context) (net.Conn, error) {
	s, err := c.multi.OpenStream(ctx)
	if err != nil {
		return nil, err
	}
	return &countedConn{s, c.bytes}, nil
}

func (c *countedMulti) AcceptStream(ctx context.Context) (net.Conn, error) {
	s, err := c.multi.AcceptStream(ctx)
	if err != nil {
		return nil, err
	}
	return &countedConn{s, c.bytes}, nil
}

package peerloop

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/transport"
)

// raw is the socket of a driven peer.Conn. It can be written to on the loop only, and is never read.
type raw struct{ c *loop.Conn }

var _ transport.Conn = raw{}

// rawOf returns the socket of c.
func rawOf(c *loop.Conn) transport.Conn {
	if secured, ok := c.Layer().(transport.Secured); ok {
		return securedRaw{raw{c}, secured.ConnectionState()}
	}
	return raw{c}
}

// Write queues a copy of p.
func (r raw) Write(p []byte) (int, error) {
	r.c.Write(p)
	return len(p), nil
}

// Close closes the socket after what is queued is written. Any goroutine may call it.
func (r raw) Close() error {
	post(r.c.Loop(), r.c.Close)
	return nil
}

func (r raw) Read([]byte) (int, error)         { return 0, errors.ErrUnsupported }
func (r raw) LocalAddr() net.Addr              { return r.c.LocalAddr() }
func (r raw) RemoteAddr() net.Addr             { return r.c.RemoteAddr() }
func (r raw) SetDeadline(time.Time) error      { return nil }
func (r raw) SetReadDeadline(time.Time) error  { return nil }
func (r raw) SetWriteDeadline(time.Time) error { return nil }

// securedRaw is a socket below TLS, after the handshake.
type securedRaw struct {
	raw
	state tls.ConnectionState
}

func (r securedRaw) ConnectionState() tls.ConnectionState { return r.state }

// post makes the loop call f. If the loop's mailbox is full, a goroutine waits for room, because the caller may be on the loop.
func post(l *loop.Loop, f func()) {
	if err := l.Post(f); errors.Is(err, loop.ErrBusy) {
		go func() { _ = l.PostWait(context.Background(), f) }()
	}
}

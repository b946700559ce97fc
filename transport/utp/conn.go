//go:build utp && cgo

package utp

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	utp "github.com/anacrolix/go-libutp"

	"example.com/ferry/transport"
)

// conn is a connection of the library whose errors are those of package net.
type conn struct {
	lib    *utp.Conn
	socket *socket
	linger time.Duration
	closed atomic.Bool
}

// newConn returns a conn that is a user of s until it has ended.
func newConn(lib net.Conn, s *socket, linger time.Duration) transport.Conn {
	return &conn{lib: lib.(*utp.Conn), socket: s, linger: linger}
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.lib.Read(p)
	if n > 0 {
		return n, nil // the next Read returns the error
	}
	return 0, c.opError("read", err)
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.lib.Write(p)
	return n, c.opError("write", err)
}

// Close ends the connection. The peer still receives bytes that were written before, for at most Config.Linger.
func (c *conn) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	_ = c.lib.Close()
	go c.finish()
	return nil
}

const (
	firstPoll = time.Millisecond
	lastPoll  = 50 * time.Millisecond
	// ended is how long a connection lives on that both ends have closed, so that the peer gets the acknowledgement of its end.
	ended = 500 * time.Millisecond
)

// finish keeps the socket open until the peer has acknowledged all bytes and the end. The library does not signal that, but Read of a
// closed connection returns at once and its error tells.
func (c *conn) finish() {
	defer c.socket.done()
	unread := make([]byte, 4<<10)
	limit := time.Now().Add(c.linger)
	both := false
	for wait := firstPoll; time.Now().Before(limit); wait = min(2*wait, lastPoll) {
		n, err := 1, error(nil)
		for n > 0 {
			n, err = c.lib.Read(unread)
		}
		switch {
		case errors.Is(err, io.EOF) && !both:
			both = true
			if end := time.Now().Add(ended); end.Before(limit) {
				limit = end
			}
		case !errors.Is(err, io.EOF) && !errors.Is(err, utp.ErrConnClosed):
			return
		}
		time.Sleep(wait)
	}
}

func (c *conn) LocalAddr() net.Addr  { return c.lib.LocalAddr() }
func (c *conn) RemoteAddr() net.Addr { return c.lib.RemoteAddr() }

func (c *conn) SetDeadline(t time.Time) error      { return c.set(c.lib.SetDeadline, t) }
func (c *conn) SetReadDeadline(t time.Time) error  { return c.set(c.lib.SetReadDeadline, t) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.set(c.lib.SetWriteDeadline, t) }

func (c *conn) set(set func(time.Time) error, t time.Time) error {
	if c.closed.Load() {
		return c.opError("set deadline", net.ErrClosed)
	}
	return set(t)
}

// opError returns err as a *net.OpError, which users of a net.Conn expect. It returns io.EOF unchanged.
func (c *conn) opError(op string, err error) error {
	var timeout net.Error
	switch {
	case err == nil:
		return nil
	case c.closed.Load(): // this end's Close has precedence over an end by the peer
		err = net.ErrClosed
	case errors.Is(err, io.EOF):
		return err
	case errors.As(err, &timeout) && timeout.Timeout():
		err = os.ErrDeadlineExceeded
	}
	return &net.OpError{Op: op, Net: "utp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

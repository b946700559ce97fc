package websocket

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coder/websocket"

	"example.com/ferry/transport"
	"example.com/ferry/transport/internal/deadline"
	"example.com/ferry/transport/internal/inbox"
)

const (
	maxMessage = 32 << 10 // bytes of the messages that are sent; the default limit of coder/websocket's readers
	maxUnread  = 64 << 10 // bytes that may wait for Read
)

// conn is a stream of bytes in binary messages. One goroutine receives messages, because the library closes a WebSocket when a
// deadline interrupts a read.
type conn struct {
	ws     *websocket.Conn
	raw    net.Conn // the connection below ws
	linger time.Duration

	in       *inbox.Inbox
	received chan struct{} // closed when the receiving goroutine has ended

	writing  sync.Mutex
	deadline deadline.Deadline // of Write; raw has the same one
	closed   atomic.Bool
}

// securedConn is a conn over TLS.
type securedConn struct {
	*conn
	state tls.ConnectionState
}

var _ transport.Secured = (*securedConn)(nil)

// ConnectionState has the peer's certificate.
func (c *securedConn) ConnectionState() tls.ConnectionState { return c.state }

func newConn(ws *websocket.Conn, raw net.Conn, state *tls.ConnectionState, linger time.Duration) transport.Conn {
	c := &conn{ws: ws, raw: raw, linger: linger, in: inbox.New(), received: make(chan struct{})}
	ws.SetReadLimit(-1) // a message is never held as a whole
	go c.receive()
	if state == nil {
		return c
	}
	return &securedConn{c, *state}
}

// receive passes the content of messages to Read, until the WebSocket ends.
func (c *conn) receive() {
	defer close(c.received)
	for {
		kind, message, err := c.ws.Reader(context.Background())
		if err == nil && kind != websocket.MessageBinary {
			c.in.End(errors.New("the peer sent a text message: send binary messages"))
			_ = c.ws.Close(websocket.StatusUnsupportedData, "binary messages only")
			return
		}
		if err == nil {
			err = c.pass(message)
		}
		if err != nil {
			c.in.End(readError(err))
			return
		}
	}
}

// pass passes the content of one message to Read. After Close it discards the content, so that the peer's close frame is reached.
func (c *conn) pass(message io.Reader) error {
	for {
		if c.in.WaitRoom(maxUnread) != nil {
			_, err := io.Copy(io.Discard, message)
			return err
		}
		n, err := message.Read(c.in.Space())
		c.in.Commit(n)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readError returns the error that Read returns when the WebSocket has ended with err.
func readError(err error) error {
	switch code := websocket.CloseStatus(err); {
	case code == websocket.StatusNormalClosure, code == websocket.StatusGoingAway, code == websocket.StatusNoStatusRcvd:
		return io.EOF
	case code == -1 && errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF // the connection ended without a close frame
	default:
		return err
	}
}

// Read waits for bytes of the peer. It returns io.EOF after the peer's Close.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = c.opError("read", err)
	}
	return n, err
}

// Write sends p in messages of at most 32 KiB. After a deadline has interrupted a Write, all further ones fail.
func (c *conn) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.deadline.Expired() { // nothing is sent, so the WebSocket stays in order
		return 0, c.opError("write", os.ErrDeadlineExceeded)
	}
	sent := 0
	for sent < len(p) {
		message := p[sent:min(len(p), sent+maxMessage)]
		if err := c.ws.Write(context.Background(), websocket.MessageBinary, message); err != nil {
			return sent, c.opError("write", err)
		}
		sent += len(message)
	}
	return sent, nil
}

// Close sends a close frame, waits for the peer's for at most Config.Linger, and closes the connection. If a Write is in progress, Close
// ends the connection at once.
func (c *conn) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	c.in.Close()
	if c.writing.TryLock() {
		_ = c.raw.SetDeadline(time.Now().Add(c.linger))
		_ = c.ws.Close(websocket.StatusNormalClosure, "")
		c.writing.Unlock()
	} else {
		_ = c.raw.Close()
		_ = c.ws.CloseNow()
	}
	<-c.received
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return c.raw.LocalAddr() }
func (c *conn) RemoteAddr() net.Addr { return c.raw.RemoteAddr() }

// SetDeadline sets both deadlines.
func (c *conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline interrupts Read. No byte is lost.
func (c *conn) SetReadDeadline(t time.Time) error {
	if c.closed.Load() {
		return c.opError("set deadline", net.ErrClosed)
	}
	c.in.Deadline.Set(t)
	return nil
}

// SetWriteDeadline interrupts Write.
func (c *conn) SetWriteDeadline(t time.Time) error {
	if c.closed.Load() {
		return c.opError("set deadline", net.ErrClosed)
	}
	c.deadline.Set(t)
	return c.raw.SetWriteDeadline(t)
}

// opError returns err as a *net.OpError, which users of a net.Conn expect.
func (c *conn) opError(op string, err error) error {
	switch {
	case c.closed.Load(): // this end's Close has precedence over an end by the peer
		err = net.ErrClosed
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = os.ErrDeadlineExceeded
	case errors.Is(err, net.ErrClosed):
		err = fmt.Errorf("the peer closed the connection: %w", syscall.EPIPE)
	}
	return &net.OpError{Op: op, Net: "websocket", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

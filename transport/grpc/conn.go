package grpc

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/grpcwire"
	"example.com/ferry/internal/h2conn"
	"example.com/ferry/protocol/http2"
	"example.com/ferry/transport"
	"example.com/ferry/transport/internal/deadline"
	"example.com/ferry/transport/internal/inbox"
)

const (
	// maxMessage is the size of the messages that are sent, in bytes: with its prefix, a message is one frame.
	maxMessage = 16<<10 - grpcwire.PrefixSize
	// giveBack is the number of bytes that Read takes before the peer gets them back as window.
	giveBack = 16 << 10
)

// conn is a call as a stream of bytes.
type conn struct {
	h2     *h2conn.Conn
	dialed bool // the client's end, which owns h2
	linger time.Duration

	in       *inbox.Inbox
	messages messageReader // used by the Handler
	taken    int           // bytes that Read has taken and the peer has not got back; used by Read

	writing  sync.Mutex
	deadline deadline.Deadline // of Write
	room     chan struct{}     // signaled when the stream may have room, or has ended
	closing  chan struct{}     // closed by Close
	once     sync.Once

	// These need the lock of h2.
	stream   *http2.Stream
	released bool        // stream may be another call by now
	over     bool        // the stream accepts no more bytes
	closed   bool        // this end is closed: bytes that arrive are discarded
	limit    *time.Timer // of the last bytes of a closed Conn of a listener; nil if none wait
}

// newConn returns a conn over a stream. It is called with the lock of h2.
func newConn(h2 *h2conn.Conn, s *http2.Stream, dialed bool, linger time.Duration) *conn {
	c := &conn{
		h2: h2, stream: s, dialed: dialed, linger: linger, in: inbox.New(),
		room: make(chan struct{}, 1), closing: make(chan struct{}),
	}
	c.in.Taken = c.consumed
	s.User = c
	return c
}

// securedConn is a conn over TLS.
type securedConn struct{ *conn }

var _ transport.Secured = securedConn{}

// ConnectionState has the peer's certificate.
func (c securedConn) ConnectionState() tls.ConnectionState {
	return c.h2.Raw().(transport.Secured).ConnectionState()
}

// secured returns c as a Secured if there is TLS below it.
func (c *conn) secured() transport.Conn {
	if _, ok := c.h2.Raw().(transport.Secured); ok {
		return securedConn{c}
	}
	return c
}

// Read waits for bytes of the peer. It returns io.EOF after the peer's Close.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = c.opError("read", err)
	}
	return n, err
}

// consumed gives n bytes back to the peer as window, many at a time.
func (c *conn) consumed(n int) {
	if c.taken += n; c.taken < giveBack {
		return
	}
	c.h2.Lock()
	if !c.released {
		c.stream.Consumed(c.taken)
	}
	c.h2.Unlock()
	c.taken = 0
}

// Write sends p in messages, and waits while the peer gives no window.
func (c *conn) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	message := bufpool.Get(grpcwire.PrefixSize + min(len(p), maxMessage))
	defer message.Release()
	sent := 0
	for sent < len(p) {
		n := min(len(p)-sent, maxMessage)
		message.B = message.B[:grpcwire.PrefixSize]
		grpcwire.PutPrefix(message.B, false, n)
		message.B = append(message.B, p[sent:sent+n]...)
		if err := c.send(message.B); err != nil {
			return sent, c.opError("write", err)
		}
		sent += n
	}
	return sent, nil
}

// send writes a message, once the queue of the stream has room.
func (c *conn) send(message []byte) error {
	for {
		expired, moved := c.deadline.Channels()
		select {
		case <-c.closing:
			return net.ErrClosed
		case <-expired:
			return os.ErrDeadlineExceeded
		default:
		}
		c.h2.Lock()
		over, full := c.over, !c.over && c.stream.Full()
		if !over && !full {
			c.stream.Write(message, false)
		}
		c.h2.Unlock()
		switch {
		case over:
			return fmt.Errorf("the peer closed the connection: %w", syscall.EPIPE)
		case !full:
			return nil
		}
		select {
		case <-c.room:
		case <-c.closing:
		case <-expired:
		case <-moved:
		}
	}
}

// notify lets a Write that waits look again.
func (c *conn) notify() {
	select {
	case c.room <- struct{}{}:
	default:
	}
}

// Close ends the call. The peer still receives bytes that were written before, for at most Config.Linger.
func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.closing)
		c.in.Close()
		c.h2.Lock()
		c.finish()
		c.h2.Unlock()
		if c.dialed {
			c.h2.Drain() // closes the connection once the last byte is sent
			limit := time.AfterFunc(c.linger, func() { c.h2.Close(nil) })
			go func() {
				<-c.h2.Done()
				limit.Stop()
			}()
		}
	})
	return nil
}

// finish ends this side of the stream behind what is queued. It needs the lock of h2.
func (c *conn) finish() {
	if c.released {
		return
	}
	switch {
	case c.over:
	case c.dialed:
		c.stream.Write(nil, true)
	default:
		writeStatus(c.stream, 0, "")
		if c.stream.Queued() > 0 { // release follows when it is sent
			c.closed, c.over = true, true
			c.limit = time.AfterFunc(c.linger, c.abandon)
			return
		}
	}
	c.release()
}

// abandon ends the stream of a closed Conn whose client has not taken the last bytes within Config.Linger.
func (c *conn) abandon() {
	c.h2.Lock()
	defer c.h2.Unlock()
	if !c.released {
		c.stream.Reset(http2.Cancel)
		c.release()
	}
}

// release drops the stream. It needs the lock of h2.
func (c *conn) release() {
	if !c.released {
		c.released, c.over = true, true
		if c.limit != nil {
			c.limit.Stop()
		}
		c.stream.Release()
		c.notify()
	}
}

func (c *conn) LocalAddr() net.Addr  { return c.h2.Raw().LocalAddr() }
func (c *conn) RemoteAddr() net.Addr { return c.h2.Raw().RemoteAddr() }

// SetDeadline sets both deadlines.
func (c *conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline interrupts Read. No byte is lost.
func (c *conn) SetReadDeadline(t time.Time) error { return c.setDeadline(&c.in.Deadline, t) }

// SetWriteDeadline interrupts Write, which then returns how many bytes were sent.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(&c.deadline, t) }

func (c *conn) setDeadline(d *deadline.Deadline, t time.Time) error {
	select {
	case <-c.closing:
		return c.opError("set deadline", net.ErrClosed)
	default:
		d.Set(t)
		return nil
	}
}

// opError returns err as a *net.OpError, which users of a net.Conn expect.
func (c *conn) opError(op string, err error) error {
	select {
	case <-c.closing: // this end's Close has precedence over an end by the peer
		err = net.ErrClosed
	default:
	}
	return &net.OpError{Op: op, Net: "grpc", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

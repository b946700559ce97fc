package relay

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"example.com/ferry/transport"
)

// preface is how the preface of HTTP/2 begins, and no request of HTTP/1.1 with a method that is known. RFC 9113, section 3.4.
const preface = "PRI"

// Split serves two protocols on one address: the connections of http2 begin with the preface of HTTP/2, and those of http1 do not. A connection has
// patience to send its first bytes, and most of them may wait at once. l is closed when both are.
func Split(l transport.Listener, patience time.Duration, most int) (http2, http1 transport.Listener) {
	s := &splitter{inner: l, patience: patience, places: make(chan struct{}, most), closeInner: sync.OnceValue(l.Close)}
	s.two, s.one = newHalf(s), newHalf(s)
	go s.accept()
	return s.two, s.one
}

type splitter struct {
	inner    transport.Listener
	patience time.Duration
	places   chan struct{} // of connections that have not sent their first bytes
	two, one *half

	closeInner func() error
}

// accept passes connections on until the listener is closed.
func (s *splitter) accept() {
	for {
		c, err := s.inner.Accept(context.Background())
		if err != nil { // it was closed
			_, _ = s.two.Close(), s.one.Close()
			return
		}
		select {
		case s.places <- struct{}{}:
			go func() {
				s.pass(c)
				<-s.places
			}()
		default:
			_ = c.Close()
		}
	}
}

// pass reads the first bytes of a connection, and gives it to the half that serves it.
func (s *splitter) pass(c transport.Conn) {
	if r, ok := c.(transport.Restricted); ok {
		r.PeerIdentified() // clients have no credentials yet; their servers bound what they send
	}
	first := make([]byte, len(preface))
	_ = c.SetReadDeadline(time.Now().Add(s.patience))
	if _, err := io.ReadFull(c, first); err != nil {
		_ = c.Close()
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	to := s.one
	if string(first) == preface {
		to = s.two
	}
	begun := transport.Conn(&begunConn{c, strings.NewReader(string(first))})
	if secured, ok := c.(transport.Secured); ok {
		begun = &securedConn{begun, secured}
	}
	select {
	case to.conns <- begun:
	case <-to.closed:
		_ = c.Close()
	}
}

// half is one of the two listeners.
type half struct {
	splitter *splitter
	conns    chan transport.Conn
	closed   chan struct{}
	once     sync.Once
}

var _ transport.Listener = (*half)(nil)

func newHalf(s *splitter) *half {
	return &half{splitter: s, conns: make(chan transport.Conn), closed: make(chan struct{})}
}

// Accept returns the next connection.
func (h *half) Accept(ctx context.Context) (transport.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Addr returns the address of both.
func (h *half) Addr() net.Addr { return h.splitter.inner.Addr() }

// Close ends Accept. Further connections of this protocol are closed.
func (h *half) Close() error {
	h.once.Do(func() { close(h.closed) })
	for _, each := range []*half{h.splitter.two, h.splitter.one} {
		select {
		case <-each.closed:
		default:
			return nil
		}
	}
	return h.splitter.closeInner()
}

// begunConn is a connection of which the first bytes were read.
type begunConn struct {
	transport.Conn
	first *strings.Reader
}

// Read returns the first bytes again, and then what follows them.
func (c *begunConn) Read(p []byte) (int, error) {
	if c.first.Len() > 0 {
		return c.first.Read(p)
	}
	return c.Conn.Read(p)
}

// securedConn has the TLS state of the connection.
type securedConn struct {
	transport.Conn
	transport.Secured
}

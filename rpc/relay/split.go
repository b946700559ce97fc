package relay

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"example.com/ferry/internal/newcomers"
	"example.com/ferry/transport"
)

// preface is how the preface of HTTP/2 begins, and no request of HTTP/1.1 with a method that is known. RFC 9113, section 3.4.
const preface = "PRI"

// Split serves two protocols on one address: the connections of http2 begin with the preface of HTTP/2, and those of http1 do not. A connection is closed
// unless identified is called within patience of its acceptance, with its remote address. Only so many may be without that at once: a further one closes the
// oldest. l is closed when both are.
func Split(l transport.Listener, patience time.Duration, places int) (http2, http1 transport.Listener, identified func(client net.Addr)) {
	s := &splitter{inner: l, patience: patience, unknown: map[string]*client{}, closeInner: sync.OnceValue(l.Close)}
	s.newcomers = newcomers.New(places, 0, (*client).giveWay)
	s.two, s.one = newHalf(s), newHalf(s)
	go s.accept()
	return s.two, s.one, s.identified
}

type splitter struct {
	inner    transport.Listener
	patience time.Duration
	two, one *half

	closeInner func() error

	mu        sync.Mutex
	newcomers *newcomers.Set[*client]
	unknown   map[string]*client // the same, by remote address
}

// client is a connection. Its place is free when it is closed.
type client struct {
	transport.Conn
	of      *splitter
	address string
	timer   *time.Timer // closes it
}

// add gives a connection a place.
func (s *splitter) add(nc transport.Conn) *client {
	c := &client{Conn: nc, of: s, address: nc.RemoteAddr().String()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newcomers.Add(c)
	s.unknown[c.address] = c
	c.timer = time.AfterFunc(s.patience, func() {
		if s.remove(c) {
			_ = c.Conn.Close()
		}
	})
	return c
}

// identified ends the patience with a client.
func (s *splitter) identified(addr net.Addr) {
	s.mu.Lock()
	c := s.unknown[addr.String()]
	s.mu.Unlock()
	if c != nil {
		s.remove(c)
	}
}

// remove frees the place of a connection. It returns false if it has none.
func (s *splitter) remove(c *client) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	removed := s.newcomers.Remove(c)
	if removed {
		c.forget()
	}
	return removed
}

// forget needs the lock.
func (c *client) forget() {
	c.timer.Stop()
	if c.of.unknown[c.address] == c {
		delete(c.of.unknown, c.address)
	}
}

// giveWay closes the connection for another one. It needs the lock.
func (c *client) giveWay() {
	c.forget()
	go func() { _ = c.Conn.Close() }() // TLS says goodbye, for which the client may leave no room
}

// Close frees the place, and closes the connection.
func (c *client) Close() error {
	c.of.remove(c)
	return c.Conn.Close()
}

// accept passes connections on until the listener is closed.
func (s *splitter) accept() {
	for {
		c, err := s.inner.Accept(context.Background())
		if err != nil { // it was closed
			_, _ = s.two.Close(), s.one.Close()
			return
		}
		go s.pass(s.add(c))
	}
}

// pass reads the first bytes of a connection, and gives it to the half that serves it.
func (s *splitter) pass(c *client) {
	if r, ok := c.Conn.(transport.Restricted); ok {
		r.PeerIdentified() // clients have no credentials yet; their servers bound what they send
	}
	first := make([]byte, len(preface))
	if _, err := io.ReadFull(c, first); err != nil {
		_ = c.Close()
		return
	}
	to := s.one
	if string(first) == preface {
		to = s.two
	}
	begun := transport.Conn(&begunConn{c, strings.NewReader(string(first))})
	if secured, ok := c.Conn.(transport.Secured); ok {
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

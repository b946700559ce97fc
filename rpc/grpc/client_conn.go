package grpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"example.com/ferry/internal/compress"
	"example.com/ferry/internal/h2conn"
	"example.com/ferry/protocol/http2"
	"example.com/ferry/rpc/call"
	"example.com/ferry/transport"
)

// clientConn is the client's end of a connection.
type clientConn struct {
	link
	addr      string
	scheme    []byte
	authority []byte
	userAgent []byte
	path      []byte // of the last call
	value     []byte // of the last field
	waiting   []*opening

	once    sync.Once
	closing chan struct{}
	ready   chan struct{} // closed when the server's SETTINGS have arrived
	isReady bool
}

var (
	_ call.Conn     = (*clientConn)(nil)
	_ http2.Handler = (*clientConn)(nil)
)

// opening is a call that waits for a stream, because the server accepts no more at once.
type opening struct {
	stream *http2.Stream // set before token; nil if there is none, or if the connection has ended it since
	token  chan struct{}
}

// newClientConn makes nc a connection. Its goroutines end with it.
func newClientConn(ctx context.Context, nc net.Conn, addr string, cfg *Config) (*clientConn, error) {
	c := &clientConn{
		addr: addr, scheme: []byte("http"), authority: []byte("localhost"), userAgent: []byte("ferry"),
		closing: make(chan struct{}), ready: make(chan struct{}),
	}
	if _, ok := nc.(transport.Secured); ok {
		c.scheme = []byte("https")
	}
	if name := cfg.Authority; name != "" {
		c.authority = []byte(name)
	} else if validAuthority(addr) {
		c.authority = []byte(addr)
	}
	if cfg.UserAgent != "" {
		c.userAgent = []byte(cfg.UserAgent + " ferry")
	}
	c.cfg = cfg
	c.h2 = h2conn.Client(nc, cfg.connection(), c)
	go func() {
		_ = c.h2.Serve() // Err has the reason
		c.startClosing()
	}()
	select {
	case <-c.ready:
		return c, nil
	case <-c.h2.Done():
		return nil, fmt.Errorf("grpc: %s does not speak HTTP/2: %w", addr, c.h2.Err())
	case <-ctx.Done():
		c.h2.Close(ctx.Err())
		return nil, fmt.Errorf("grpc: %s sends no SETTINGS of HTTP/2: %w", addr, ctx.Err())
	}
}

func (c *clientConn) startClosing() { c.once.Do(func() { close(c.closing) }) }

// Closing is closed when the server drains, or the connection is lost or closed.
func (c *clientConn) Closing() <-chan struct{} { return c.closing }

// Err returns why the connection ended, or nil while it is open.
func (c *clientConn) Err() error { return c.h2.Err() }

// Close ends the connection after the calls in progress. If ctx ends before, they get Unavailable, and Close returns ctx's error.
func (c *clientConn) Close(ctx context.Context) error {
	c.h2.Drain()
	c.startClosing()
	c.h2.Lock()
	c.admit() // calls that wait for a stream get none
	c.h2.Unlock()
	select {
	case <-c.h2.Done():
		return nil
	case <-ctx.Done():
		c.h2.Close(errors.New("the client has closed it"))
		<-c.h2.Done()
		return ctx.Err()
	}
}

// open returns a stream for a call. It needs the lock, and unlocks it while it waits for a place among the streams that the server
// accepts at once. The call ends with ctx, or when timeout has a token.
func (c *clientConn) open(ctx context.Context, timeout <-chan time.Time) (*http2.Stream, *call.Status) {
	h2 := c.h2.HTTP2()
	if len(c.waiting) == 0 {
		if s := h2.Open(); s != nil {
			return s, nil
		}
	}
	if status := c.unusable(); status != nil {
		return nil, status
	}
	o := &opening{token: make(chan struct{}, 1)}
	c.waiting = append(c.waiting, o)
	c.h2.Unlock()
	var status *call.Status
	select {
	case <-o.token:
	case <-ctx.Done():
		status = call.StatusOf(ctx.Err())
	case <-timeout:
		status = deadlineExceeded()
	}
	c.h2.Lock()
	switch {
	case status == nil && o.stream == nil:
		if status = c.unusable(); status == nil {
			status = statusf(call.Unavailable, "grpc: the connection to %s accepts no more calls", c.addr)
		}
	case status == nil:
		return o.stream, nil
	case o.stream != nil:
		o.stream.Release()
		c.admit()
	}
	for i, other := range c.waiting {
		if other == o {
			c.waiting = append(c.waiting[:i], c.waiting[i+1:]...)
			break
		}
	}
	return nil, status
}

// unusable returns a status if no call can begin any more. It needs the lock.
func (c *clientConn) unusable() *call.Status {
	h2 := c.h2.HTTP2()
	if err := c.h2.Err(); err != nil {
		return statusf(call.Unavailable, "grpc: the connection to %s has ended: %v", c.addr, err)
	}
	exhausted := h2.Streams() == 0 && !h2.CanOpen() // no ids are left, or the server accepts no stream at all
	if !exhausted && !h2.Draining() && !h2.PeerGoneAway() {
		return nil
	}
	c.startClosing()
	return statusf(call.Unavailable, "grpc: the connection to %s is closing: use another one", c.addr)
}

// admit gives streams to calls that wait. It needs the lock.
func (c *clientConn) admit() {
	for len(c.waiting) > 0 {
		s := c.h2.HTTP2().Open()
		if s == nil && c.unusable() == nil {
			return
		}
		o := c.waiting[0]
		c.waiting = append(c.waiting[:0], c.waiting[1:]...)
		if o.stream = s; s != nil {
			s.User = o
		}
		o.token <- struct{}{}
	}
}

// Turn is called when all that was read is handled. The server may accept more streams now.
func (c *clientConn) Turn() {
	if !c.isReady && c.h2.HTTP2().PeerReady() {
		c.isReady = true
		close(c.ready)
	}
	c.admit()
}

// writeHead sends the head of a call. It needs the lock. status is set if the head cannot be written; nothing is sent then.
func (c *clientConn) writeHead(s *http2.Stream, head *call.Head, timeout time.Duration) *call.Status {
	wire, status := c.content.toSend(head.Content)
	if status == nil {
		c.path, status = appendPath(c.path[:0], head.Method)
	}
	if status != nil {
		return status
	}
	e := s.BeginHeaders()
	e.Method([]byte("POST"))
	e.Scheme(c.scheme)
	e.Path(c.path)
	e.Authority(c.authority)
	e.FieldString("content-type", wire)
	e.Field([]byte("user-agent"), c.userAgent)
	e.FieldString("te", "trailers")
	if timeout > 0 {
		c.value = appendTimeout(c.value[:0], timeout)
		e.Field([]byte("grpc-timeout"), c.value)
	}
	if head.Compression != "" {
		e.FieldString("grpc-encoding", head.Compression)
	}
	e.FieldString("grpc-accept-encoding", compress.Names)
	writeMetadata(e, head.Metadata)
	e.End(false)
	return nil
}

// checkHead returns a status if a call cannot be made.
func checkHead(head *call.Head) *call.Status {
	if head.Compression != "" && !compress.Known(head.Compression) {
		return statusf(call.InvalidArgument, "grpc: unknown compression %q: choose one of %s", head.Compression, compress.Names)
	}
	return call.StatusOf(head.Metadata.Check())
}

// Headers is of http2.Handler, as are the methods that follow.
func (c *clientConn) Headers(s *http2.Stream, h *http2.Head, end bool) {
	if cc, ok := s.User.(*clientCall); ok {
		cc.headers(h, end)
	}
}

// Data adds to a response.
func (c *clientConn) Data(s *http2.Stream, piece []byte, end bool) {
	if cc, ok := s.User.(*clientCall); ok {
		cc.data(piece, end)
	}
}

// Reset ends a call. A stream that was given to a call, and is not used yet, ends with the connection or by GOAWAY.
func (c *clientConn) Reset(s *http2.Stream, why http2.StreamError) {
	switch user := s.User.(type) {
	case *clientCall:
		user.reset(why)
	case *opening:
		user.stream = nil
		s.Release()
		c.admit() // the others that wait get none
	default:
		s.Release()
	}
}

// Writable lets Send continue.
func (c *clientConn) Writable(s *http2.Stream) {
	if cc, ok := s.User.(*clientCall); ok {
		signal(cc.writable)
	}
}

// Sent does nothing.
func (c *clientConn) Sent(*http2.Stream) {}

// GoAway begins the end of the connection.
func (c *clientConn) GoAway(uint32, http2.Code) { c.startClosing() }

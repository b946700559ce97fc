package grpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"example.com/ferry/internal/grpcwire"
	"example.com/ferry/internal/h2conn"
	"example.com/ferry/protocol/http2"
	"example.com/ferry/transport"
	"example.com/ferry/transport/internal/accept"
)

// listener accepts connections of HTTP/2. Each of their calls is a Conn.
type listener struct {
	t       *Transport
	below   transport.Listener
	ready   chan transport.Conn
	early   *accept.Waiting // connections without a call
	pending *accept.Waiting // calls that Accept has not returned
	ctx     context.Context // cancelled by Close
	cancel  context.CancelFunc
	running sync.WaitGroup // accept

	mu    sync.Mutex
	conns map[*serverConn]bool
}

func newListener(t *Transport, below transport.Listener) *listener {
	l := &listener{
		t: t, below: below, ready: make(chan transport.Conn), conns: make(map[*serverConn]bool),
		early: accept.NewWaiting(t.cfg.MaxHandshakes), pending: accept.NewWaiting(t.cfg.MaxHandshakes),
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.running.Go(l.accept)
	return l
}

func (l *listener) accept() {
	for {
		raw, err := l.below.Accept(l.ctx)
		if err != nil {
			return // only Close ends Accept
		}
		c := &serverConn{l: l}
		cfg := l.t.h2config()
		cfg.IdleTimeout = idleTimeout
		c.h2 = h2conn.Server(raw, cfg, c)
		l.mu.Lock()
		l.conns[c] = true
		l.mu.Unlock()
		ctx, done := l.early.Start(l.ctx, l.t.cfg.HandshakeTimeout)
		stop := context.AfterFunc(ctx, func() { c.h2.Close(errNoCall) })
		c.called = func() { stop(); done() }
		go c.serve()
	}
}

// The codes of gRPC that a listener responds with.
const (
	statusUnimplemented = 12
	statusUnavailable   = 14
)

var errNoCall = errors.New("grpc: the client has made no call in time")

// Accept returns the next call. After Close it returns net.ErrClosed.
func (l *listener) Accept(ctx context.Context) (transport.Conn, error) {
	return accept.Next(ctx, l.ready, l.ctx.Done())
}

// Addr returns the address of the socket.
func (l *listener) Addr() net.Addr { return l.below.Addr() }

// Close stops listening. It closes the calls that Accept has not returned, and each connection after its last call.
func (l *listener) Close() error {
	l.cancel()
	err := l.below.Close()
	l.mu.Lock()
	conns := make([]*serverConn, 0, len(l.conns))
	for c := range l.conns {
		conns = append(conns, c)
	}
	l.mu.Unlock()
	for _, c := range conns {
		c.h2.Drain()
	}
	l.running.Wait()
	return err
}

// deliver passes a call to Accept.
func (l *listener) deliver(c *conn) {
	ctx, done := l.pending.Start(l.ctx, l.t.cfg.HandshakeTimeout)
	defer done()
	select {
	case l.ready <- c.secured():
	case <-ctx.Done():
		_ = c.Close()
	}
}

// serverConn is one connection of a listener, and its http2.Handler.
type serverConn struct {
	l      *listener
	h2     *h2conn.Conn
	called func() // ends the wait for the first call
}

var _ http2.Handler = (*serverConn)(nil)

func (c *serverConn) serve() {
	_ = c.h2.Serve()
	c.called()
	c.l.mu.Lock()
	delete(c.l.conns, c)
	c.l.mu.Unlock()
}

// Headers begins a call, or ends the client's side by trailers.
func (c *serverConn) Headers(s *http2.Stream, h *http2.Head, end bool) {
	if h.Trailers {
		connOf(s).data(nil, true)
		return
	}
	e := s.BeginHeaders()
	if string(h.Method) != "POST" || !grpcwire.IsGRPC(h) {
		e.Status(415) // gRPC, doc/PROTOCOL-HTTP2.md
		e.FieldString("content-length", "0")
		e.End(true)
		s.Release()
		return
	}
	e.Status(200)
	e.FieldString("content-type", grpcwire.ContentType)
	refuse := func(code uint32, message string) {
		e.End(false)
		writeStatus(s, code, message)
		s.Release()
	}
	switch {
	case string(h.Path) != Method:
		message := fmt.Sprintf("unknown method %.100q: this listener carries connections of ferry's own protocol (%s), not calls of gRPC: "+
			"use a client of ferry, such as ferry call grpc://ADDRESS, or call services of the node at one of its listeners h2c:// or h2://", h.Path, Method)
		refuse(statusUnimplemented, message)
		return
	case c.l.ctx.Err() != nil:
		refuse(statusUnavailable, "the listener is closed")
		return
	}
	e.End(false)
	c.called()
	call := newConn(c.h2, s, false, c.l.t.cfg.Linger)
	if end {
		call.data(nil, true)
	}
	go c.l.deliver(call)
}

func connOf(s *http2.Stream) *conn { return s.User.(*conn) }

func (c *serverConn) Data(s *http2.Stream, p []byte, end bool)     { connOf(s).data(p, end) }
func (c *serverConn) Reset(s *http2.Stream, why http2.StreamError) { connOf(s).reset(why) }
func (c *serverConn) Writable(s *http2.Stream)                     { connOf(s).notify() }
func (c *serverConn) Sent(s *http2.Stream)                         { connOf(s).release() }
func (c *serverConn) GoAway(uint32, http2.Code)                    {}

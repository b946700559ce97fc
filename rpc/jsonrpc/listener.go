package jsonrpc

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"example.com/ferry/internal/h1conn"
	"example.com/ferry/internal/h2conn"
	"example.com/ferry/protocol/http2"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/internal/callctx"
	"example.com/ferry/transport"
)

// listener serves an address: call.Listener. A goroutine serves each connection of HTTP/1.1, and each request of HTTP/2.
type listener struct {
	inner   transport.Listener
	handler *handler
	cfg     h1conn.Config
	ctx     context.Context // ends with the accepting
	cancel  context.CancelFunc
	running sync.WaitGroup // the accepting goroutine, and one for each connection
	stop    sync.Once
	stopErr error

	mu       sync.Mutex
	conns    map[*h1conn.Conn]*h2conn.Conn // nil for a connection that is not of HTTP/2, or has sent nothing yet
	draining bool
	closed   bool
}

// Listen implements call.Protocol. The path of requests is /, or /Service/Method for plain calls. It serves HTTP/1.1, and HTTP/2 to clients that choose it
// in TLS, or begin with its preface.
func (p Protocol) Listen(ctx context.Context, t transport.Transport, addr string, s call.Service) (call.Listener, error) {
	if n, ok := t.(transport.Negotiator); ok {
		t = n.WithALPN("h2", "http/1.1")
	}
	inner, err := t.Listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	l := &listener{inner: inner, handler: p.newHandler(s), conns: make(map[*h1conn.Conn]*h2conn.Conn)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	if l.handler.MaxConns == 0 {
		l.handler.MaxConns = defaultListenConns
	}
	l.cfg = h1conn.Config{
		Limits: &l.handler.limits, MaxBody: l.handler.MaxMessage, HeaderTimeout: headerTimeout, BodyTimeout: l.handler.BodyTimeout, IdleTimeout: serverIdleTimeout,
		Farewell: []h1conn.Field{{Name: drainingField, Value: "1"}},
	}
	l.running.Go(l.accept)
	return l, nil
}

func (l *listener) Addr() net.Addr { return l.inner.Addr() }

func (l *listener) accept() {
	for {
		nc, err := l.inner.Accept(l.ctx)
		if err != nil {
			return // stopAccepting is what ends Accept
		}
		if r, ok := nc.(transport.Restricted); ok {
			r.PeerIdentified() // clients have no credentials
		}
		l.serve(nc)
	}
}

// serve starts a connection. One for which there is no place is closed.
func (l *listener) serve(nc net.Conn) {
	peer := call.Peer{Addr: nc.RemoteAddr()}
	identify := func() { // after the first bytes: then the handshake is done
		if s, ok := nc.(transport.Secured); ok && peer.TLS == nil {
			state := s.ConnectionState()
			peer.TLS = &state
		}
	}
	cfg := l.cfg
	cfg.Handle = func(r *h1conn.Request) h1conn.Response {
		identify()
		return l.handler.serve(r.Path, request{carrier: &http1Request{Request: r}, method: r.Method, fields: r.Fields, peer: peer})
	}
	var c *h1conn.Conn
	cfg.HTTP2 = func(first []byte) {
		identify()
		l.serveHTTP2(c, first, &peer)
	}
	c = h1conn.NewConn(nc, &cfg)
	peer.Ended = c.Done()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.conns) >= l.handler.MaxConns {
		_ = nc.Close()
		return
	}
	l.conns[c] = nil
	if l.draining {
		c.BeginDrain()
	}
	l.running.Go(func() {
		c.Serve()
		l.mu.Lock()
		delete(l.conns, c)
		l.mu.Unlock()
	})
}

// http1Request is a request of HTTP/1.1.
type http1Request struct {
	*h1conn.Request
	ctx *callctx.Context
}

// Begin returns the context of the handlers.
func (r *http1Request) Begin(deadline time.Time) context.Context {
	r.ctx = callctx.New(deadline)
	r.Watch(r.ctx)
	return r.ctx
}

// End ends it.
func (r *http1Request) End() { r.ctx.End(context.Canceled) }

// serveHTTP2 serves a connection that has begun with the preface of HTTP/2.
func (l *listener) serveHTTP2(c *h1conn.Conn, first []byte, peer *call.Peer) {
	two := newHTTP2Conn(l.handler, peer)
	two.h2 = h2conn.Server(c.NetConn(), &h2conn.Config{
		HTTP2:         http2.Config{MaxHeader: maxHeader, MaxFields: maxFields, StreamWindow: streamWindow},
		HeaderTimeout: headerTimeout, IdleTimeout: serverIdleTimeout, StallTimeout: l.handler.BodyTimeout, First: first,
	}, two)
	l.mu.Lock()
	l.conns[c] = two.h2
	closed, draining := l.closed, l.draining
	l.mu.Unlock()
	if closed {
		two.h2.Close(errStopped)
	} else if draining {
		two.h2.Drain()
	}
	_ = two.h2.Serve() // the requests of the connection have got the reason
	two.running.Wait()
}

var errStopped = errors.New("the server is stopped")

// all returns the connections, by their version of HTTP. It needs the lock.
func (l *listener) all() (one []*h1conn.Conn, two []*h2conn.Conn) {
	for c, h2 := range l.conns {
		if h2 == nil {
			one = append(one, c)
		} else {
			two = append(two, h2)
		}
	}
	return one, two
}

// Drain implements call.Listener. Idle clients get a goodbye, and responses tell the others that the connection closes. The listener closes when
// no new connection has come for a moment: the system resets connections that it has not accepted, with the requests in them.
func (l *listener) Drain(ctx context.Context) error {
	l.mu.Lock()
	l.draining = true
	one, two := l.all()
	l.mu.Unlock()
	for _, c := range one {
		c.BeginDrain()
		l.running.Go(c.Drain) // one that waits for its client does not delay the others
	}
	for _, c := range two {
		l.running.Go(c.Drain)
	}
	l.awaitNone(ctx, drainGrace)
	err := l.stopAccepting()
	done := make(chan struct{})
	go func() {
		l.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return err
	case <-ctx.Done():
		_ = l.Close()
		<-done
		return ctx.Err()
	}
}

// stopAccepting closes the listener.
func (l *listener) stopAccepting() error {
	l.stop.Do(func() {
		l.cancel()
		l.stopErr = l.inner.Close()
	})
	return l.stopErr
}

func (l *listener) Close() error {
	err := l.stopAccepting()
	l.mu.Lock()
	l.closed = true
	one, two := l.all()
	l.mu.Unlock()
	for _, c := range one {
		c.Close()
	}
	for _, c := range two {
		c.Close(errStopped)
	}
	l.running.Wait()
	return err
}

// awaitNone waits until there has been no connection for a moment, but no longer than limit.
func (l *listener) awaitNone(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	look := time.NewTicker(drainLook)
	defer look.Stop()
	for quiet := 0; quiet < drainQuiet; quiet++ {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		l.mu.Lock()
		if len(l.conns) > 0 {
			quiet = -1
		}
		l.mu.Unlock()
	}
}

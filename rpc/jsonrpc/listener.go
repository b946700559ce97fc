package jsonrpc

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"example.com/ferry/internal/h1conn"
	"example.com/ferry/rpc/call"
	"example.com/ferry/transport"
)

// listener serves an address: call.Listener. A goroutine serves each connection.
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
	conns    map[*h1conn.Conn]struct{}
	draining bool
	closed   bool
}

// Listen implements call.Protocol. The path of requests is /, or /Service/Method for plain calls.
func (p Protocol) Listen(ctx context.Context, t transport.Transport, addr string, s call.Service) (call.Listener, error) {
	inner, err := t.Listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	l := &listener{inner: inner, handler: p.newHandler(s), conns: make(map[*h1conn.Conn]struct{})}
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
	cfg := l.cfg
	cfg.Handle = func(r *h1conn.Request) h1conn.Response {
		if s, ok := nc.(transport.Secured); ok && peer.TLS == nil { // the handshake is done
			state := s.ConnectionState()
			peer.TLS = &state
		}
		return l.respond(r, &peer)
	}
	c := h1conn.NewConn(nc, &cfg)
	peer.Ended = c.Done()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.conns) >= l.handler.MaxConns {
		_ = nc.Close()
		return
	}
	l.conns[c] = struct{}{}
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

func (l *listener) respond(r *h1conn.Request, peer *call.Peer) h1conn.Response {
	method, plain := plainMethod(r.Path)
	if !plain && r.Path != "/" {
		return textResponse(http.StatusNotFound, "calls are POST / with JSON-RPC, or POST /Service/Method with the value alone")
	}
	return l.handler.handle(request{method: r.Method, fields: r.Fields, peer: *peer, plain: method, body: r.Body, running: r.Watching})
}

// all returns the connections.
func (l *listener) all() []*h1conn.Conn {
	list := make([]*h1conn.Conn, 0, len(l.conns))
	for c := range l.conns {
		list = append(list, c)
	}
	return list
}

// Drain implements call.Listener. Idle clients get a goodbye, and responses tell the others that the connection closes. The listener closes when
// no new connection has come for a moment: the system resets connections that it has not accepted, with the requests in them.
func (l *listener) Drain(ctx context.Context) error {
	l.mu.Lock()
	l.draining = true
	conns := l.all()
	l.mu.Unlock()
	for _, c := range conns {
		c.BeginDrain()
		l.running.Go(c.Drain) // one that waits for its client does not delay the others
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
	conns := l.all()
	l.mu.Unlock()
	for _, c := range conns {
		c.Close()
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

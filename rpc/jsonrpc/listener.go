package jsonrpc

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"example.com/ferry/rpc/call"
	"example.com/ferry/transport"
)

// listener serves an address: call.Listener.
type listener struct {
	server  *http.Server
	handler *handler
	accepts *acceptor
	served  chan struct{} // closed when Serve has returned
}

// Listen implements call.Protocol. The path of requests is /.
func (p Protocol) Listen(ctx context.Context, t transport.Transport, addr string, s call.Service) (call.Listener, error) {
	tl, err := t.Listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	conns := p.MaxConns
	if conns == 0 {
		conns = defaultListenConns
	}
	l := &listener{handler: p.newHandler(s), accepts: newAcceptor(tl, conns), served: make(chan struct{})}
	l.server = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				http.Error(w, "calls are POST /", http.StatusNotFound)
				return
			}
			l.handler.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       serverIdleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug), // clients cause most of them
		ConnContext:       func(ctx context.Context, nc net.Conn) context.Context { return context.WithValue(ctx, connKey{}, nc) },
	}
	go func() {
		defer close(l.served)
		_ = l.server.Serve(l.accepts) // the listener was closed
	}()
	return l, nil
}

func (l *listener) Addr() net.Addr { return l.accepts.Addr() }

// Drain implements call.Listener. Each response tells its client that the connection closes, so clients that call all the time soon have
// none left. Only then the listener closes: the system resets connections that it has not accepted, with the requests in them.
func (l *listener) Drain(ctx context.Context) error {
	l.handler.draining.Store(true)
	l.accepts.awaitNone(ctx, drainGrace)
	err := l.accepts.Close()
	<-l.served
	if shutdown := l.server.Shutdown(ctx); shutdown != nil {
		return errors.Join(shutdown, l.server.Close())
	}
	return err
}

func (l *listener) Close() error {
	err := errors.Join(l.accepts.Close(), l.server.Close())
	<-l.served
	return err
}

// acceptor makes a net.Listener of a transport.Listener, and bounds the number of connections.
type acceptor struct {
	transport.Listener
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	places chan struct{}
	once   sync.Once
	err    error // of Close
}

func newAcceptor(l transport.Listener, conns int) *acceptor {
	a := &acceptor{Listener: l, places: make(chan struct{}, conns)}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a
}

// Accept implements net.Listener. A connection for which there is no place is closed.
func (a *acceptor) Accept() (net.Conn, error) {
	for {
		nc, err := a.Listener.Accept(a.ctx)
		if err != nil {
			if a.ctx.Err() != nil {
				err = net.ErrClosed
			}
			return nil, err
		}
		select {
		case a.places <- struct{}{}:
		default:
			nc.Close()
			continue
		}
		if r, ok := nc.(transport.Restricted); ok {
			r.PeerIdentified() // clients have no credentials
		}
		return &accepted{Conn: nc, places: a.places}, nil
	}
}

func (a *acceptor) Close() error {
	a.once.Do(func() {
		a.cancel()
		a.err = a.Listener.Close()
	})
	return a.err
}

// awaitNone waits until there has been no connection for a moment, but no longer than limit.
func (a *acceptor) awaitNone(ctx context.Context, limit time.Duration) {
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
		if len(a.places) > 0 {
			quiet = -1
		}
	}
}

// accepted is a connection that has a place.
type accepted struct {
	net.Conn
	places chan struct{}
	once   sync.Once
}

func (c *accepted) Close() error {
	c.once.Do(func() { <-c.places })
	return c.Conn.Close()
}

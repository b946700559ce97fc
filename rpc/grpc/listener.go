package grpc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"sync"
	"sync/atomic"

	"example.com/ferry/internal/h2conn"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/internal/held"
	"example.com/ferry/rpc/internal/workers"
	"example.com/ferry/transport"
)

// listener serves the calls of an address.
type listener struct {
	inner    transport.Listener
	cfg      *Config
	services []call.Service
	workers  workers.Pool
	held     *held.Server
	methods  atomic.Pointer[map[string]found] // by path; replaced as a whole

	mu      sync.Mutex
	conns   map[*serverConn]struct{}
	closing bool
	running sync.WaitGroup // the accepting goroutine, and one for each connection
}

var _ call.Listener = (*listener)(nil)

// found is a method that was asked for. method is nil if no service has it: the last service then ends the call.
type found struct {
	name    string
	method  call.Method
	service call.Service
}

func newListener(inner transport.Listener, cfg *Config, s call.Service) *listener {
	l := &listener{inner: inner, cfg: cfg, held: held.NewServer(cfg.MaxServerHeld), conns: make(map[*serverConn]struct{})}
	l.services = append(append(l.services, cfg.Services...), s)
	l.methods.Store(&map[string]found{})
	l.running.Go(l.accept)
	return l
}

// Addr returns the address.
func (l *listener) Addr() net.Addr { return l.inner.Addr() }

func (l *listener) accept() {
	for {
		nc, err := l.inner.Accept(context.Background())
		if err != nil {
			return // Close of the listener is what ends Accept
		}
		if r, ok := nc.(transport.Restricted); ok {
			r.PeerIdentified()
		}
		l.serve(nc)
	}
}

// serve starts a connection.
func (l *listener) serve(nc net.Conn) {
	c := &serverConn{listener: l, peer: call.Peer{Addr: nc.RemoteAddr()}}
	if s, ok := nc.(transport.Secured); ok {
		state := s.ConnectionState()
		c.peer.TLS = &state
	}
	c.cfg, c.server, c.account = l.cfg, true, held.New(l.held, l.cfg.MaxHeld)
	cfg := l.cfg.connection()
	cfg.StallTimeout = l.cfg.ResponseTimeout
	c.h2 = h2conn.Server(nc, cfg, c)
	c.peer.Ended = c.h2.Done()
	if l.cfg.Others != nil {
		c.others = l.cfg.Others(c.h2, &c.peer)
		c.othersTurn, _ = c.others.(h2conn.Turner)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing || len(l.conns) >= l.cfg.MaxConnections {
		_ = nc.Close()
		return
	}
	l.conns[c] = struct{}{}
	l.running.Go(func() {
		_ = c.h2.Serve() // the calls of the connection have got the reason
		l.mu.Lock()
		delete(l.conns, c)
		l.mu.Unlock()
	})
}

// maxMethods bounds the methods that a listener remembers.
const maxMethods = 4096

// find returns the method of a path. Its name is empty if the path has not the form of gRPC's.
func (l *listener) find(path []byte) found {
	known := l.methods.Load()
	if f, ok := (*known)[string(path)]; ok {
		return f
	}
	f := found{name: methodOf(path), service: l.services[len(l.services)-1]}
	if f.name == "" {
		return f
	}
	for _, s := range l.services {
		if m := s.Method(f.name); m != nil {
			f.method, f.service = m, s
			break
		}
	}
	if f.method != nil && len(*known) < maxMethods {
		more := maps.Clone(*known)
		more[string(path)] = f
		l.methods.CompareAndSwap(known, &more) // if another connection has added a method meanwhile, the next call adds this one
	}
	return f
}

// Drain lets the calls in progress end.
func (l *listener) Drain(ctx context.Context) error {
	closed := l.stopAccepting((*h2conn.Conn).Drain)
	done := make(chan struct{})
	go func() {
		l.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		l.workers.Close()
		return closed
	case <-ctx.Done():
		err := l.Close()
		<-done
		return errors.Join(fmt.Errorf("grpc: calls on %v were still in progress: %w", l.inner.Addr(), ctx.Err()), err)
	}
}

// errClosing is why connections end at once.
var errClosing = errors.New("the server is stopped")

// Close closes all connections.
func (l *listener) Close() error {
	err := l.stopAccepting(func(c *h2conn.Conn) { c.Close(errClosing) })
	l.running.Wait()
	l.workers.Close()
	return err
}

// stopAccepting closes the listener, and calls end for each connection.
func (l *listener) stopAccepting(end func(*h2conn.Conn)) error {
	l.mu.Lock()
	l.closing = true
	conns := make([]*serverConn, 0, len(l.conns))
	for c := range l.conns {
		conns = append(conns, c)
	}
	l.mu.Unlock()
	for _, c := range conns {
		end(c.h2)
	}
	return l.inner.Close()
}

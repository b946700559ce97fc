package mqtt

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync/atomic"

	"example.com/ferry/broker"
	"example.com/ferry/loop"
	"example.com/ferry/loop/tlslayer"
)

// Listener serves one address of a Server. All methods may overlap.
type Listener struct {
	server  *Server
	cfg     ListenerConfig
	group   *loop.Group
	inner   *loop.Listener
	clients *broker.Listener
	layers  *tlslayer.Layers // nil without TLS
	bound   *tlslayer.Bound
	loops   []*loopState
	open    atomic.Pointer[string] // the identity of clients without a credential
}

// Listen binds an address. The caller calls Serve, and Drain at the end.
func (v *Server) Listen(cfg ListenerConfig) (*Listener, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	at, err := loop.ResolveAddr(context.Background(), cfg.Address)
	if err != nil {
		return nil, fmt.Errorf("mqtt: %w", err)
	}
	group, err := loop.New(&loop.Config{QueueMemory: 64 << 20, MaxUnread: cfg.MaxPacket + 256<<10, Sockets: cfg.Sockets})
	if err != nil {
		return nil, fmt.Errorf("mqtt: listen on %s: %w", cfg.Address, err)
	}
	places := max(cfg.MaxConnections/len(group.Loops()), 1)
	group.SetMaxConns(2 * places) // identified clients, whose number the broker bounds, and newcomers
	l := &Listener{server: v, cfg: cfg, group: group}
	l.open.Store(&cfg.Anonymous)
	if cfg.TLS != nil {
		l.layers = tlslayer.New(len(group.Loops()), nil)
		l.bound = l.layers.Bound()
	}
	for _, each := range group.Loops() {
		l.loops = append(l.loops, newLoopState(l, each, places))
	}
	l.clients = v.cfg.Broker.NewLocalListener(&net.TCPAddr{IP: at.TCP.Addr().AsSlice(), Port: int(at.TCP.Port())}, cfg.Validate)
	if l.inner, err = group.Listen(at, l.accept); err != nil {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = group.Shutdown(ended)
		return nil, fmt.Errorf("mqtt: listen on %s: %w", cfg.Address, err)
	}
	v.mu.Lock()
	v.listeners[l] = struct{}{}
	v.mu.Unlock()
	return l, nil
}

// Addr returns the address that was bound.
func (l *Listener) Addr() net.Addr { return l.inner.Addr() }

// Turn returns nil once every event loop has called a function, or has ended. It returns the error of ctx if that ends first.
func (l *Listener) Turn(ctx context.Context) error { return l.group.Turn(ctx) }

// Serve waits until ctx ends. Connections are served from Listen on.
func (l *Listener) Serve(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Close stops accepting.
func (l *Listener) Close() error { return l.inner.Close() }

// SetValidation changes how thoroughly payloads are validated.
func (l *Listener) SetValidation(v broker.Validation) { l.clients.SetValidation(v) }

// SetAnonymous replaces ListenerConfig.Anonymous, and disconnects the clients that have another one.
func (l *Listener) SetAnonymous(name string) {
	l.open.Store(&name)
	l.clients.SetAnonymous(name)
}

// CloseCertified closes the clients that a certificate has identified: see broker.Listener.CloseCertified.
func (l *Listener) CloseCertified(valid func(*tls.ConnectionState) bool) {
	l.clients.CloseCertified(valid)
}

// Drain stops accepting, disconnects the clients, and returns when all connections are closed. If ctx ends first, it resets those that
// are left and returns the error of ctx. Sessions stay.
func (l *Listener) Drain(ctx context.Context) error {
	_ = l.inner.Close()
	err := l.group.Shutdown(ctx)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = l.clients.Drain(ended)
	l.server.mu.Lock()
	delete(l.server.listeners, l)
	l.server.mu.Unlock()
	return err
}

// accept is called on the loop that drives the connection.
func (l *Listener) accept(c *loop.Conn) loop.Handler {
	ls := l.loops[c.Loop().Index()]
	ls.newcomers.Add(c)
	if l.layers == nil {
		return ls.greeting
	}
	c.SetLayer(l.layers.Server(c.Loop(), l.cfg.TLS, l.bound), func(*loop.Conn) loop.Handler { return ls.greeting })
	return ls.shaking
}

// ListenerStats is a copy of the counters of a Listener.
type ListenerStats struct {
	Address     string
	Connections int // accepted connections that are open
}

func (l *Listener) stats() ListenerStats {
	v := ListenerStats{Address: l.Addr().String()}
	for _, ls := range l.loops {
		v.Connections += int(ls.open.Load())
	}
	return v
}

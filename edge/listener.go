package edge

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

// Config configures a Listener. Protocol, Broker, Address, MaxUnread and MaxConnections are required.
type Config struct {
	Protocol string // in errors
	Broker   *broker.Broker
	Address  string            // HOST:PORT
	TLS      *tls.Config       // nil means cleartext
	Validate broker.Validation // of what clients publish
	Sockets  loop.Sockets      // sockets that listen already; nil means none

	// Anonymous is the identity of clients without a credential: see broker.LocalConfig.
	Anonymous string

	MaxUnread      int // bytes of a connection that its handler leaves unread
	MaxConnections int // most identified clients, and most others; further ones wait in the kernel
}

// Listener serves one address. All methods but Listen may overlap.
type Listener struct {
	Clients *broker.Listener

	tls       *tls.Config
	group     *loop.Group
	inner     *loop.Listener
	layers    *tlslayer.Layers // nil without TLS
	bound     *tlslayer.Bound
	loops     []*Loop
	anonymous atomic.Pointer[string]
}

// newcomersMemory bounds the halves of first packets that a loop holds, in bytes.
const newcomersMemory = 4 << 20

// Listen binds an address. It is called once, for a new Listener, which its owner has before the first connection. first is called for each loop, and returns the handler of its new connections, which calls Loop.Opened. The caller calls Serve, and
// Drain at the end.
func (l *Listener) Listen(cfg Config, first func(*Loop) loop.Handler) error {
	at, err := loop.ResolveAddr(context.Background(), cfg.Address)
	if err != nil {
		return fmt.Errorf("%s: %w", cfg.Protocol, err)
	}
	group, err := loop.New(&loop.Config{QueueMemory: 64 << 20, MaxUnread: cfg.MaxUnread, Sockets: cfg.Sockets})
	if err != nil {
		return fmt.Errorf("%s: listen on %s: %w", cfg.Protocol, cfg.Address, err)
	}
	places := max(cfg.MaxConnections/len(group.Loops()), 1)
	group.SetMaxConns(2 * places) // identified clients, whose number the broker bounds, and newcomers
	l.tls, l.group = cfg.TLS, group
	l.anonymous.Store(&cfg.Anonymous)
	if cfg.TLS != nil {
		l.layers = tlslayer.New(len(group.Loops()), nil)
		l.bound = l.layers.Bound()
	}
	l.Clients = cfg.Broker.NewLocalListener(&net.TCPAddr{IP: at.TCP.Addr().AsSlice(), Port: int(at.TCP.Port())}, cfg.Validate)
	for _, each := range group.Loops() {
		on := newLoop(each, places)
		on.first = first(on)
		l.loops = append(l.loops, on)
	}
	if l.inner, err = group.Listen(at, l.accept); err != nil {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = group.Shutdown(ended)
		return fmt.Errorf("%s: listen on %s: %w", cfg.Protocol, cfg.Address, err)
	}
	return nil
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
func (l *Listener) SetValidation(v broker.Validation) { l.Clients.SetValidation(v) }

// Anonymous returns the identity of clients without a credential.
func (l *Listener) Anonymous() string { return *l.anonymous.Load() }

// SetAnonymous replaces Config.Anonymous, and disconnects the clients that have another one.
func (l *Listener) SetAnonymous(name string) {
	l.anonymous.Store(&name)
	l.Clients.SetAnonymous(name)
}

// CloseCertified closes the clients that a certificate has identified: see broker.Listener.CloseCertified.
func (l *Listener) CloseCertified(valid func(*tls.ConnectionState) bool) {
	l.Clients.CloseCertified(valid)
}

// Connections returns how many accepted connections are open.
func (l *Listener) Connections() (n int) {
	for _, on := range l.loops {
		n += int(on.open.Load())
	}
	return n
}

// Drain stops accepting, and returns when all connections are closed. If ctx ends first, it resets those that are left and returns the error of ctx. ended, which
// may be nil, is called between the end of the loops and that of their clients.
func (l *Listener) Drain(ctx context.Context, ended func()) error {
	_ = l.inner.Close()
	err := l.group.Shutdown(ctx)
	if ended != nil {
		ended()
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	_ = l.Clients.Drain(over)
	return err
}

// accept is called on the loop that drives the connection.
func (l *Listener) accept(c *loop.Conn) loop.Handler {
	on := l.loops[c.Loop().Index()]
	on.newcomers.Add(c)
	if l.layers == nil {
		return on.first
	}
	c.SetLayer(l.layers.Server(c.Loop(), l.tls, l.bound), func(*loop.Conn) loop.Handler { return on.first })
	return &on.shaking
}

// TLSState returns the result of the connection's TLS handshake, or nil.
func TLSState(c *loop.Conn) *tls.ConnectionState {
	l, ok := c.Layer().(*tlslayer.Layer)
	if !ok {
		return nil
	}
	state := l.ConnectionState()
	return &state
}

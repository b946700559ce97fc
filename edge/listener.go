package edge

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/loop"
	"example.com/ferry/loop/tlslayer"
)

// Config configures a Listener. Address is required. Zero values mean the defaults.
type Config struct {
	Address  string            // HOST:PORT
	TLS      *tls.Config       // nil means cleartext
	Validate broker.Validation // of what clients publish
	Sockets  loop.Sockets      // sockets that listen already; nil means none

	// Anonymous is the identity of clients without a credential: see broker.LocalConfig.
	Anonymous string

	// Origins are the web origins, such as https://example.com, whose pages may use the listener. "*" means all.
	Origins []string

	MaxConnections   int           // most identified clients, and most others; further ones wait in the kernel. 0 means 1024
	HandshakeTimeout time.Duration // longest time of a TLS or WebSocket handshake, and then from the first byte to the end of the first packet; 0 means 10 s
	WriteTimeout     time.Duration // longest time without progress of a client that sends, or that has to read; 0 means 30 s
}

// Service is what a Listener serves. Name, Broker, Logins, MaxUnread and First are required.
type Service struct {
	Name   string // in errors and in the log
	Broker *broker.Broker
	Logins *Logins      // compares passwords
	Log    *slog.Logger // nil means slog.Default

	// Subprotocol is that of the WebSockets which carry the bytes of clients: see Loop.Opened. "" means that TCP does, or TLS.
	Subprotocol string

	MaxUnread int                         // bytes of a connection that its handler leaves unread
	First     func(on *Loop) loop.Handler // is called for each loop, and returns the handler of its new connections, which calls Loop.Opened
}

// Listener serves one address. All methods but Listen may overlap.
type Listener struct {
	Clients *broker.Listener

	cfg       Config
	service   Service
	group     *loop.Group
	inner     *loop.Listener
	layers    *tlslayer.Layers // nil without TLS
	bound     *tlslayer.Bound
	loops     []*Loop
	anonymous atomic.Pointer[string]
	origins   atomic.Pointer[[]string]
	closed    atomic.Bool // it accepts no more
}

// newcomersMemory bounds the halves of first packets that a loop holds, in bytes.
const newcomersMemory = 4 << 20

// Config returns the configuration, with its defaults.
func (l *Listener) Config() *Config { return &l.cfg }

// fill puts the defaults into c.
func (c *Config) fill() {
	c.MaxConnections = cmp.Or(c.MaxConnections, 1024)
	c.HandshakeTimeout = cmp.Or(c.HandshakeTimeout, 10*time.Second)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 30*time.Second)
}

// Listen binds an address. It is called once, for a new Listener, which its owner has before the first connection. The caller calls Serve, and Drain at the end.
func (l *Listener) Listen(cfg Config, service Service) error {
	if cfg.Address == "" {
		return fmt.Errorf("%s: Config.Address is required", service.Name)
	}
	cfg.fill()
	service.Log = cmp.Or(service.Log, slog.Default())
	at, err := loop.ResolveAddr(context.Background(), cfg.Address)
	if err != nil {
		return fmt.Errorf("%s: %w", service.Name, err)
	}
	group, err := loop.New(&loop.Config{QueueMemory: 64 << 20, MaxUnread: service.MaxUnread, Sockets: cfg.Sockets, HandshakeTimeout: cfg.HandshakeTimeout})
	if err != nil {
		return fmt.Errorf("%s: listen on %s: %w", service.Name, cfg.Address, err)
	}
	places := max(cfg.MaxConnections/len(group.Loops()), 1)
	group.SetMaxConns(2 * places) // identified clients, whose number the broker bounds, and newcomers
	l.cfg, l.service, l.group = cfg, service, group
	l.anonymous.Store(&cfg.Anonymous)
	l.origins.Store(&cfg.Origins)
	if cfg.TLS != nil {
		l.layers = tlslayer.New(len(group.Loops()), nil)
		l.bound = l.layers.Bound()
	}
	l.Clients = service.Broker.NewLocalListener(&net.TCPAddr{IP: at.TCP.Addr().AsSlice(), Port: int(at.TCP.Port())}, cfg.Validate)
	for _, each := range group.Loops() {
		on := newLoop(each, places)
		on.first = service.First(on)
		l.loops = append(l.loops, on)
	}
	if l.inner, err = group.Listen(at, l.accept); err != nil {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = group.Shutdown(ended)
		return fmt.Errorf("%s: listen on %s: %w", service.Name, cfg.Address, err)
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
func (l *Listener) Close() error {
	l.closed.Store(true)
	return l.inner.Close()
}

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
	_ = l.Close()
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
	var secure *secureLayer
	if l.layers != nil {
		secure = &secureLayer{l.layers.Server(c.Loop(), l.cfg.TLS, l.bound), l, c}
	}
	first := func(*loop.Conn) loop.Handler { return on.first }
	switch {
	case l.service.Subprotocol != "":
		c.SetLayer(&webSocket{on: on, of: l, conn: c, below: secure}, first)
	case secure != nil:
		c.SetLayer(secure, first)
	default:
		return on.first
	}
	return &on.shaking
}

// secureLayer is the TLS of a connection.
type secureLayer struct {
	*tlslayer.Layer
	of   *Listener
	conn *loop.Conn
}

// Handshake logs that a client does not speak TLS.
func (s *secureLayer) Handshake() error {
	err := s.Layer.Handshake()
	if errors.Is(err, tlslayer.ErrNotTLS) {
		s.of.service.Log.Warn(s.of.service.Name+": a client does not speak TLS, and the listener does", "addr", Remote(s.conn), "listener", s.of.cfg.Address)
	}
	return err
}

// TLSState returns the result of the connection's TLS handshake, or nil.
func TLSState(c *loop.Conn) *tls.ConnectionState {
	secure, _ := c.Layer().(*secureLayer)
	if w, ok := c.Layer().(*webSocket); ok {
		secure = w.below
	}
	if secure == nil {
		return nil
	}
	state := secure.ConnectionState()
	return &state
}

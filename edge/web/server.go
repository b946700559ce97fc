package web

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"sync/atomic"

	"example.com/ferry/broker"
	"example.com/ferry/loop"
	"example.com/ferry/loop/tlslayer"
)

// Server serves one address. All methods may overlap.
type Server struct {
	cfg      Config
	group    *loop.Group
	inner    *loop.Listener
	clients  *broker.Listener
	layers   *tlslayer.Layers // nil without TLS
	bound    *tlslayer.Bound
	loops    []*loopState
	origins  atomic.Pointer[[]string]
	open     atomic.Pointer[string] // the identity of clients without a credential
	counters counters
	draining atomic.Bool
}

// Listen binds the address. The caller calls Serve, and Drain at the end.
func Listen(cfg Config) (*Server, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	at, err := loop.ResolveAddr(context.Background(), cfg.Address)
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	group, err := loop.New(&loop.Config{QueueMemory: 64 << 20, MaxUnread: cfg.MaxMessage + 256<<10, Sockets: cfg.Sockets})
	if err != nil {
		return nil, fmt.Errorf("web: listen on %s: %w", cfg.Address, err)
	}
	places := max(cfg.MaxConnections/len(group.Loops()), 1)
	group.SetMaxConns(2 * places) // identified clients and newcomers
	s := &Server{cfg: cfg, group: group}
	s.origins.Store(&cfg.Origins)
	s.open.Store(&cfg.Anonymous)
	if cfg.TLS != nil {
		s.layers = tlslayer.New(len(group.Loops()), nil)
		s.bound = s.layers.Bound()
	}
	for _, l := range group.Loops() {
		s.loops = append(s.loops, newLoopState(s, l, places))
	}
	s.clients = cfg.Broker.NewLocalListener(&net.TCPAddr{IP: at.TCP.Addr().AsSlice(), Port: int(at.TCP.Port())}, cfg.Validate)
	if s.inner, err = group.Listen(at, s.accept); err != nil {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = group.Shutdown(ended)
		return nil, fmt.Errorf("web: listen on %s: %w", cfg.Address, err)
	}
	return s, nil
}

// Addr returns the address that was bound.
func (s *Server) Addr() net.Addr { return s.inner.Addr() }

// Turn returns nil once every event loop has called a function, or has ended. It returns the error of ctx if that ends first.
func (s *Server) Turn(ctx context.Context) error { return s.group.Turn(ctx) }

// Serve waits until ctx ends. Connections are served from Listen on.
func (s *Server) Serve(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Close stops accepting.
func (s *Server) Close() error { return s.inner.Close() }

// SetValidation changes how thoroughly payloads are validated.
func (s *Server) SetValidation(v broker.Validation) { s.clients.SetValidation(v) }

// SetOrigins replaces Config.Origins.
func (s *Server) SetOrigins(origins []string) { s.origins.Store(&origins) }

// SetAnonymous replaces Config.Anonymous, and disconnects the clients that have another one.
func (s *Server) SetAnonymous(name string) {
	s.open.Store(&name)
	s.clients.SetAnonymous(name)
}

// CloseCertified closes the clients that a certificate has identified: see broker.Listener.CloseCertified.
func (s *Server) CloseCertified(valid func(*tls.ConnectionState) bool) {
	s.clients.CloseCertified(valid)
}

// Drain stops accepting, ends the streams of events, and returns when all connections are closed. If ctx ends first, it resets those
// that are left and returns the error of ctx.
func (s *Server) Drain(ctx context.Context) error {
	_ = s.inner.Close()
	s.draining.Store(true)
	err := s.group.Shutdown(ctx)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, ls := range s.loops {
		ls.closeClients() // the loops have ended
	}
	_ = s.clients.Drain(ended)
	return err
}

// accept is called on the loop that drives the connection.
func (s *Server) accept(c *loop.Conn) loop.Handler {
	ls := s.loops[c.Loop().Index()]
	ls.newcomers.Add(c)
	if s.layers == nil {
		return ls.idle
	}
	c.SetLayer(s.layers.Server(c.Loop(), s.cfg.TLS, s.bound), func(*loop.Conn) loop.Handler { return ls.idle })
	return ls.shaking
}

// allowed returns the value of Access-Control-Allow-Origin for a request from origin. ok is false if its pages may not use the server.
func (s *Server) allowed(origin string) (value string, ok bool) {
	for _, o := range *s.origins.Load() {
		if o == "*" || strings.EqualFold(o, origin) {
			return origin, true
		}
	}
	return "", false
}

// counters count requests and clients.
type counters struct {
	requests   [statuses]atomic.Uint64 // by the first digit of the status
	events     atomic.Int64            // streams of server-sent events
	websockets atomic.Int64
}

const statuses = 6

// Stats is a copy of the counters of a Server.
type Stats struct {
	Address     string
	Connections int               // accepted connections that are open
	Requests    map[string]uint64 // responses by class: 2xx, 4xx...
	Events      int               // streams of server-sent events
	WebSockets  int
}

// Stats returns the counters.
func (s *Server) Stats() Stats {
	v := Stats{Address: s.Addr().String(), Requests: map[string]uint64{}, Events: int(s.counters.events.Load()), WebSockets: int(s.counters.websockets.Load())}
	for i := range s.counters.requests {
		if n := s.counters.requests[i].Load(); n > 0 {
			v.Requests[string(rune('0'+i))+"xx"] = n
		}
	}
	for _, ls := range s.loops {
		v.Connections += int(ls.open.Load())
	}
	return v
}

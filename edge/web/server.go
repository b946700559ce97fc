package web

import (
	"context"
	"strings"
	"sync/atomic"

	"example.com/ferry/edge"
	"example.com/ferry/loop"
)

// Server serves one address. All methods may overlap.
type Server struct {
	*edge.Listener
	cfg      Config
	loops    []*loopState
	origins  atomic.Pointer[[]string]
	counters counters
	draining atomic.Bool
}

// Listen binds the address. The caller calls Serve, and Drain at the end.
func Listen(cfg Config) (*Server, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	s := &Server{Listener: &edge.Listener{}, cfg: cfg}
	s.origins.Store(&cfg.Origins)
	err := s.Listen(edge.Config{
		Protocol: "web", Broker: cfg.Broker, Address: cfg.Address, TLS: cfg.TLS, Validate: cfg.Validate, Sockets: cfg.Sockets, Anonymous: cfg.Anonymous,
		MaxUnread: cfg.MaxMessage + 256<<10, MaxConnections: cfg.MaxConnections,
	}, func(on *edge.Loop) loop.Handler {
		ls := newLoopState(s, on)
		s.loops = append(s.loops, ls)
		return ls.idle
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// SetOrigins replaces Config.Origins.
func (s *Server) SetOrigins(origins []string) { s.origins.Store(&origins) }

// Drain stops accepting, ends the streams of events, and returns when all connections are closed. If ctx ends first, it resets those
// that are left and returns the error of ctx.
func (s *Server) Drain(ctx context.Context) error {
	s.draining.Store(true)
	return s.Listener.Drain(ctx, func() {
		for _, ls := range s.loops {
			ls.closeClients()
		}
	})
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
	v := Stats{Address: s.Addr().String(), Connections: s.Connections(), Requests: map[string]uint64{}, Events: int(s.counters.events.Load()), WebSockets: int(s.counters.websockets.Load())}
	for i := range s.counters.requests {
		if n := s.counters.requests[i].Load(); n > 0 {
			v.Requests[string(rune('0'+i))+"xx"] = n
		}
	}
	return v
}

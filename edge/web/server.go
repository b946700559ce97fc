package web

import (
	"context"
	"sync/atomic"

	"example.com/ferry/edge"
	"example.com/ferry/loop"
)

// Server serves one address. All methods may overlap.
type Server struct {
	*edge.Listener
	cfg      Config
	loops    []*loopState
	counters counters
	draining atomic.Bool
}

// Listen binds the address. The caller calls Serve, and Drain at the end.
func Listen(cfg Config) (*Server, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	s := &Server{Listener: &edge.Listener{}, cfg: cfg}
	err := s.Listen(cfg.Config, edge.Service{Name: "web", Broker: cfg.Broker, Logins: cfg.Logins, Log: cfg.Log, MaxUnread: cfg.MaxMessage + 256<<10, First: func(on *edge.Loop) loop.Handler {
		ls := newLoopState(s, on)
		s.loops = append(s.loops, ls)
		return ls.idle
	}})
	if err != nil {
		return nil, err
	}
	return s, nil
}

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

package http1

import (
	"sync/atomic"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
)

// Service serves the clients of one listener. Any goroutine may call its methods.
type Service struct {
	loops     []*loopState
	connector *Connector
	current   atomic.Pointer[settings]
}

// settings is the configuration that a request uses from beginning to end. It is immutable.
type settings struct {
	Config
	timeouts exchange.Timeouts
	plan     *exchange.Plan
}

// New creates a Service for a loop group. loops is the number of loops. A nil c means defaults. The Service refuses
// clients until Use sets a Plan.
func New(c *Config, loops int) *Service {
	s := &Service{connector: NewConnector(nil, loops)}
	for i := range loops {
		s.loops = append(s.loops, newLoopState(s, i))
	}
	s.Use(c, nil)
	return s
}

// Use applies c and p to requests that begin from now on. A nil c means defaults. Use copies c. If p has no
// Connectors, it gets Connectors of HTTP/1.1.
func (s *Service) Use(c *Config, p *exchange.Plan) {
	if c == nil {
		c = &Config{}
	}
	r := &settings{Config: *c, plan: p}
	r.HTTPConfig = c.WithDefaults()
	r.timeouts = r.Timeouts()
	s.connector.Use(&r.Limits)
	if p != nil && p.Connectors == nil {
		for range p.Clusters {
			p.Connectors = append(p.Connectors, s.connector)
		}
	}
	s.current.Store(r)
}

// Accept is the loop.AcceptFunc of the listener.
func (s *Service) Accept(c *loop.Conn) loop.Handler {
	if s.current.Load().plan == nil {
		return nil
	}
	return s.loops[c.Loop().Index()].fresh
}

// IdleUntil returns when an unused connection of a client will be closed; 0 means never. isIdle is false if the connection is in
// use, or is none of s.
func (s *Service) IdleUntil(c *loop.Conn, h loop.Handler) (until time.Duration, isIdle bool) {
	unused, ok := h.(*idle)
	if !ok || unused.loopState.service != s || unused.halfClosed || unused.draining || c.Queued() > 0 {
		return 0, false
	}
	until, _ = c.TimerDeadline(idleTimer)
	return until, true
}

// Owns reports whether h handles a client's connection of s. The Shutdown method of such a handler closes the
// connection after the current response.
func (s *Service) Owns(h loop.Handler) bool {
	switch h := h.(type) {
	case *idle:
		return h.loopState.service == s
	case *linger:
		return h.loopState.service == s
	case *downstreamSide:
		return h.loopState.service == s
	case *tunnelEnd:
		return h.client && h.tunnel.loopState.service == s
	}
	return false
}

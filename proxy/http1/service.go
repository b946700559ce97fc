package http1

import (
	"sync/atomic"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"

	wire "example.com/ferry/protocol/http1"
)

// Service serves the clients of one listener. Its methods may be called by any goroutine.
type Service struct {
	loops   []*share
	current atomic.Pointer[rules]
}

// rules is what requests that begin now go by.
type rules struct {
	Config
	answers wire.Limits // of what servers send
	plan    *exchange.Plan
}

// New makes a Service for a group of so many loops. A nil c means defaults. It turns clients away until Use has given it a
// Plan.
func New(c *Config, loops int) *Service {
	s := &Service{}
	for i := range loops {
		s.loops = append(s.loops, newShare(s, i))
	}
	s.Use(c, nil)
	return s
}

// Use has all requests that begin from now on go by c and p. A nil c means defaults. c is copied.
func (s *Service) Use(c *Config, p *exchange.Plan) {
	if c == nil {
		c = &Config{}
	}
	r := &rules{Config: c.withDefaults(), plan: p}
	r.answers = r.Limits
	r.answers.MaxBody = 0
	s.current.Store(r)
}

// Accept is the loop.AcceptFunc of the listener.
func (s *Service) Accept(c *loop.Conn) loop.Handler {
	if s.current.Load().plan == nil {
		return nil
	}
	return s.loops[c.Loop().Index()].idle
}

// Owns reports whether h is the handler of one of the service's clients. Told to Shutdown, such a handler closes its
// connection when it has answered the request that is under way.
func (s *Service) Owns(h loop.Handler) bool {
	switch h := h.(type) {
	case *idle:
		return h.share.service == s
	case *linger:
		return h.share.service == s
	case *session:
		return h.share.service == s
	case *side:
		return h.client && h.tunnel.share.service == s
	}
	return false
}

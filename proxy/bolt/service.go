package bolt

import (
	"sync/atomic"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
)

// Service is one listener. Accept and Owns are for the loops, the other methods for any goroutine.
type Service struct {
	setup atomic.Pointer[setup]
	loops []worker // by the loop's index
}

// setup is what Use gives a Service: it is not changed.
type setup struct {
	cfg  Config
	plan *exchange.Plan
	ask  ask
}

// New makes a Service for so many loops. A nil c means defaults; one that is not nil has passed Check. Use gives it a Plan
// before the first connection is accepted.
func New(c *Config, loops int) *Service {
	s := &Service{loops: make([]worker, loops)}
	s.setup.Store(&setup{cfg: c.withDefaults()})
	for i := range s.loops {
		s.loops[i].begin(s)
	}
	return s
}

// Use puts another configuration and Plan in place, for requests that begin from now on. c is copied.
func (s *Service) Use(c *Config, p *exchange.Plan) {
	s.setup.Store(&setup{cfg: c.withDefaults(), plan: p, ask: newAsk(p)})
}

// Accept is the loop.AcceptFunc of the listener.
func (s *Service) Accept(c *loop.Conn) loop.Handler {
	w := &s.loops[c.Loop().Index()]
	w.loop = c.Loop()
	return &w.idle[0]
}

// Owns reports whether h handles a connection of a client of s.
func (s *Service) Owns(h loop.Handler) bool {
	switch h := h.(type) {
	case *idle:
		return h.worker.service == s
	case *session:
		return h.worker.service == s
	}
	return false
}

// Late is how many answers came for which nobody waited any more, since s began. They are dropped.
func (s *Service) Late() int64 {
	var sum int64
	for i := range s.loops {
		sum += s.loops[i].late.Load()
	}
	return sum
}

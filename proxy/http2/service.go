package http2

import (
	"sync/atomic"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"

	wire "example.com/ferry/protocol/http2"
)

// Service serves the clients of one listener. Any goroutine may call its methods.
type Service struct {
	loops   []*loopState
	current atomic.Pointer[settings]
}

// settings is the configuration that a request uses from beginning to end. A connection takes the limits of the protocol from it when it
// begins, and keeps none. It is
// immutable.
type settings struct {
	Config
	wire     wire.Config
	timeouts exchange.Timeouts
	plan     *exchange.Plan
	via      [2]string // values of Via in responses: of an HTTP/2 server, and of a server that speaks another protocol
}

// New creates a Service for a loop group. loops is the number of loops. A nil c means defaults. The Service refuses
// clients until Use sets a Plan.
func New(c *Config, loops int) *Service {
	s := &Service{}
	for range loops {
		s.loops = append(s.loops, newLoopState(s))
	}
	s.Use(c, nil)
	return s
}

// Use applies c and p to requests that begin from now on, and the limits in c to connections that begin from now on. A
// nil c means defaults. Use copies c. p must have Connectors.
func (s *Service) Use(c *Config, p *exchange.Plan) {
	if c == nil {
		c = &Config{}
	}
	r := &settings{Config: *c, wire: c.wire(), plan: p}
	r.HTTPConfig = c.WithDefaults()
	r.timeouts = r.Timeouts()
	if c.Via != "" {
		r.via = [2]string{"2 " + c.Via, "1.1 " + c.Via}
	}
	s.current.Store(r)
}

// Accept is the loop.AcceptFunc of a listener whose clients speak HTTP/2 from the first byte (RFC 9113, section 3.3).
func (s *Service) Accept(c *loop.Conn) loop.Handler {
	if s.current.Load().plan == nil {
		return nil
	}
	return s.conn(c)
}

func (s *Service) conn(c *loop.Conn) *clientConn {
	return &clientConn{loopState: s.loops[c.Loop().Index()], conn: c}
}

// IdleUntil returns when an unused connection of a client will be closed; 0 means never. isIdle is false if the connection is in
// use, or is none of s.
func (s *Service) IdleUntil(c *loop.Conn, h loop.Handler) (until time.Duration, isIdle bool) {
	switch h := h.(type) {
	case *clientConn:
		isIdle = h.loopState.service == s && h.state == serving && h.h2 != nil && h.h2.Streams() == 0 && c.Queued() == 0
	case *sniffer:
		isIdle = h.service == s && h.draining != nil
	}
	if isIdle {
		until, _ = c.TimerDeadline(idleTimer)
	}
	return until, isIdle
}

// Owns reports whether h handles a client's connection of s. The Shutdown method of such a handler closes the
// connection after its outstanding responses.
func (s *Service) Owns(h loop.Handler) bool {
	switch h := h.(type) {
	case *clientConn:
		return h.loopState.service == s
	case *sniffer:
		return h.service == s
	}
	return false
}

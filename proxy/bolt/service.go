package bolt

import (
	"sync/atomic"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
)

// Service is one listener. The loops call Accept and Owns. Any goroutine may call the other methods.
type Service struct {
	settings atomic.Pointer[settings]
	loops    []loopState // indexed by the loop's index
}

// New creates a Service. loops is the number of loops in the group. A nil c means defaults; any other c must have
// passed Check. Call Use before the first connection is accepted.
func New(c *Config, loops int) *Service {
	s := &Service{loops: make([]loopState, loops)}
	s.settings.Store(&settings{config: c.withDefaults()})
	for i := range s.loops {
		s.loops[i].init(s)
	}
	return s
}

// Use applies a configuration and a Plan to new requests. It copies c.
func (s *Service) Use(c *Config, p *exchange.Plan) {
	s.settings.Store(&settings{config: c.withDefaults(), plan: p, needs: newRequestNeeds(p)})
}

// Accept is the loop.AcceptFunc of the listener.
func (s *Service) Accept(c *loop.Conn) loop.Handler {
	ls := &s.loops[c.Loop().Index()]
	ls.loop = c.Loop()
	return &ls.idle[0]
}

// IdleUntil returns when an unused connection of a client will be closed; 0 means never. isIdle is false if the connection is in
// use, or is none of s.
func (s *Service) IdleUntil(c *loop.Conn, h loop.Handler) (until time.Duration, isIdle bool) {
	if unused, ok := h.(*idleHandler); !ok || unused.loopState.service != s || unused.draining || c.Queued() > 0 {
		return 0, false
	}
	until, _ = c.TimerDeadline(idleTimer)
	return until, true
}

// Owns reports whether h handles a client's connection of s.
func (s *Service) Owns(h loop.Handler) bool {
	switch h := h.(type) {
	case *idleHandler:
		return h.loopState.service == s
	case *session:
		return h.loopState.service == s
	}
	return false
}

// Late returns the number of responses that arrived after their request had ended. They are discarded.
func (s *Service) Late() int64 {
	var sum int64
	for i := range s.loops {
		sum += s.loops[i].lateResponses.Load()
	}
	return sum
}

// settings is an immutable snapshot of the configuration. Use replaces it.
type settings struct {
	config Config
	plan   *exchange.Plan
	needs  requestNeeds
}

// requestNeeds says which parts of a request a Plan reads. Other parts are not parsed.
type requestNeeds struct {
	target  bool   // service and method name
	header  bool   // header pairs other than service and method
	payload bool   // the content
	replay  []bool // indexed by Route.Index; true if a copy of the request is needed for retries
}

func newRequestNeeds(p *exchange.Plan) requestNeeds {
	n := requestNeeds{target: p.Log != nil}
	for _, r := range p.Table.Routes() {
		m := &r.Match
		n.target = n.target || m.Bolt.Service != "" || m.Bolt.Method != ""
		n.header = n.header || len(m.Headers) > 0
		n.payload = n.payload || m.Payload != nil
		retry := r.Forward.Retry
		n.replay = append(n.replay, retry != nil && retry.Idempotent)
	}
	return n
}

package http1

import (
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"

	wire "example.com/ferry/protocol/http1"
)

// phase is how far a session has read its request.
type phase uint8

const (
	unused    phase = iota
	atHead          // bytes of the head are awaited
	atPayload       // the route wants to see more of the payload; all bytes are left unread
	atBody          // bytes of the body are passed on
	atAnswer        // the request is whole
	atRest          // the answer is written, and what is left of the body is thrown away
)

// session is a request from its first byte to its answer's last one, and the handler of its client's connection meanwhile.
// A share uses it again for other requests.
type session struct {
	share  *share
	rules  *rules
	client *loop.Conn
	x      exchange.Exchange

	phase   phase
	timed   bool // the head has to be there in time
	ended   bool // the client has ended its side
	parting bool // the connection is to be closed behind the answer
	lasts   bool // it is not: so the client was told

	// The request.
	head     wire.Head
	headSize int
	body     wire.Body
	taken    int64 // bytes of the body
	answered bool  // with 100 Continue, by the proxy

	periodFrom   int64 // bodySeen when the period of rateTimer began
	periodPaused bool  // the proxy has paused reading in the period

	upgrade bool // the server is asked for another protocol
	request route.Request
	values  values
	payload payload
	logged  []byte // the head as it came, for the log

	// The way to the server.
	back     back
	pool     *pool
	up       *loop.Conn // nil while there is none
	open     bool       // up is connected
	reused   bool       // it has served other requests before
	sentUp   int        // bytes written to it for this attempt
	waiting  bool       // for a connection, in pool
	replayed bool       // the request was sent again as a kept connection had been closed
	kept     kept
	moved    int // what was queued when moveTimer was set
	unacked  int // what was unsent when moveTimer last went off; 0 if it has not since bytes moved

	// The answer.
	answer     wire.Head
	answerBody wire.Body
	heard      bool // the server has said something
	begun      bool // the answer's head is written
	decoded    bool // chunks are taken off, for a client of HTTP/1.0
	status     int
}

var _ loop.Shutdowner = (*session)(nil)

// values has route ask a head for its fields.
type values struct {
	head *wire.Head
	data []byte
}

// Get returns the first value of that name.
func (v *values) Get(name string) []byte { return v.head.Get(v.data, name) }

// payload is what a session keeps while its route wants to see the payload.
type payload struct {
	matcher *route.Matcher // nil if it does not
	body    wire.Body
	read    int          // bytes of the body
	content *bufpool.Buf // what they carry, if that is not in one piece
}

// Opened does nothing: a session begins on connections that are open.
func (s *session) Opened(*loop.Conn) {}

// Data takes what belongs to the request. What follows it is another one, and waits for the answer.
func (s *session) Data(c *loop.Conn, p []byte) int {
	n := 0
	switch s.phase {
	case atHead:
		n = s.readHead(p)
	case atPayload:
		n = s.match(p)
	case atBody, atRest:
		n = s.readBody(p)
	default:
		c.PauseReading()
		return 0
	}
	if s.ended && s.short(n < len(p)) {
		s.HalfClosed(c)
		return n
	}
	switch {
	case s.phase == atAnswer && n < len(p):
		c.PauseReading() // it sends one request behind the other: one read is enough to hold of them
	case s.phase != unused:
	// The session is over. It is not another request's yet, as those begin in Data too.
	case n < len(p):
		again(c)
	case s.ended:
		c.CloseWrite()
	}
	return n
}

// short reports whether the request lacks bytes that will not come, as the client has ended its side. left says that some were
// not taken.
func (s *session) short(left bool) bool {
	switch s.phase {
	case atHead, atPayload, atRest:
		return true
	case atBody:
		return s.up != nil || !left // else they wait for a connection
	}
	return false
}

// Drained has the server go on that was held back as the client read too slowly.
func (s *session) Drained(*loop.Conn) {
	if s.up == nil {
		return
	}
	s.up.ResumeReading()
	if s.begun {
		s.move()
	}
}

// HalfClosed is the end of what the client sends. It may still wait for its answer.
func (s *session) HalfClosed(*loop.Conn) {
	s.ended = true
	switch s.phase {
	case atHead, atPayload, atBody:
		// The request will not come to its end. Answers to others may still wait to be written.
		s.abandon()
		s.lasts = false
		s.finish()
	case atRest:
		s.lasts = false
		s.finish()
	}
}

// Closed is a client that is gone.
func (s *session) Closed(c *loop.Conn, _ error) {
	s.abandon()
	s.share.gone(c)
	s.release()
}

// Shutdown has the connection closed behind the answer.
func (s *session) Shutdown(*loop.Conn) { s.parting = true }

// abandon ends a request whose client is gone, or has to be left.
func (s *session) abandon() {
	s.drop()
	if s.phase != atRest {
		s.end(0)
	}
}

// end ends the exchange. status is 0 if the client has not got an answer.
func (s *session) end(status int) {
	code := traffic.Code(0)
	if status != 0 {
		code = traffic.HTTP(status)
	}
	if s.rules.plan.Log != nil && s.x.Logs(code) {
		s.log(status, code)
	}
	s.x.End(code)
}

// finish makes the connection ready for the next request, or closes it.
func (s *session) finish() {
	c := s.client
	for which := moveTimer; which <= tryTimer; which++ {
		c.StopTimer(which)
	}
	switch {
	case !s.lasts:
		s.share.linger.begin(c)
	case s.parting:
		s.share.idle.Shutdown(c)
		resume(c)
	case s.ended:
		c.SetHandler(s.share.ended)
		setTimer(c, idleTimer, s.rules.IdleTimeout)
		if len(c.Unread()) == 0 {
			c.CloseWrite()
		}
		resume(c)
	default:
		c.SetHandler(s.share.idle)
		setTimer(c, idleTimer, s.rules.IdleTimeout)
		resume(c)
	}
	s.release()
}

// resume has what c left unread come again, and what follows it.
func resume(c *loop.Conn) {
	if len(c.Unread()) > 0 {
		c.PauseReading()
	}
	c.ResumeReading()
}

// release gives the session back to its share. Its connection has another handler by now, or is closed.
func (s *session) release() {
	if s.payload.matcher != nil {
		s.payload.matcher.Reset()
		s.share.free(s.payload.matcher, s.rules.plan.Table)
	}
	if s.payload.content != nil {
		s.payload.content.Release()
	}
	s.payload = payload{}
	s.kept.reset()
	s.head.Reset()
	s.answer.Reset()
	s.rules, s.client, s.pool, s.up = nil, nil, nil, nil
	s.request, s.values = route.Request{}, values{}
	s.phase, s.timed, s.parting, s.lasts = unused, false, false, false
	s.headSize, s.taken, s.answered, s.upgrade = 0, 0, false, false
	s.sentUp, s.periodFrom, s.periodPaused = 0, 0, false
	s.open, s.reused, s.waiting, s.replayed, s.moved, s.unacked = false, false, false, false, 0, 0
	s.heard, s.begun, s.decoded, s.status = false, false, false, 0
	if bufpool.Reuse && len(s.share.sessions) < keepSessions {
		s.share.sessions = append(s.share.sessions, s)
	}
}

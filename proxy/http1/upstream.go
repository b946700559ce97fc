package http1

import (
	"errors"
	"os"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/route"

	wire "example.com/ferry/protocol/http1"
)

// back is a session as the handler of its connection to the server.
type back struct{ s *session }

var _ loop.Shutdowner = (*back)(nil)

// Opened is the end of connecting. The request is queued already.
func (b *back) Opened(*loop.Conn) { b.s.open = true }

// Data takes what belongs to the answer.
func (b *back) Data(c *loop.Conn, p []byte) int {
	s := b.s
	if s.unsentOnKept() && s.reconnect() {
		return len(p)
	}
	s.heard = true
	n := 0
	for !s.begun {
		m, err := wire.ParseResponse(p[n:], &s.answer, s.head.Method, &s.rules.answers)
		if err != nil {
			s.unreadable()
			return len(p)
		}
		if m == 0 {
			return n
		}
		head := p[n : n+m]
		n += m
		switch {
		case s.answer.Status == 101 && s.upgrade:
			s.change(head, p[n:])
			return len(p)
		case s.answer.Status == 101:
			s.unreadable()
			return len(p)
		case s.answer.Status/100 == 1:
			s.interim(head)
		case s.repeats():
			return len(p)
		default:
			s.begin(head)
		}
	}
	m, err := s.pass(p[n:])
	n += m
	switch {
	case err != nil:
		s.truncate()
		return len(p)
	case s.answerBody.Done():
		s.complete(n == len(p) && !c.Readable())
		return len(p)
	}
	if s.client.Full() {
		c.PauseReading()
	}
	s.move()
	return n
}

// Drained has the client go on that was held back as the server read too slowly.
func (b *back) Drained(*loop.Conn) {
	if b.s.phase == atBody {
		b.s.client.ResumeReading()
		b.s.move()
	}
}

// HalfClosed is the end of what the server sends.
func (b *back) HalfClosed(*loop.Conn) {
	s := b.s
	switch {
	case s.reconnect():
	case !s.begun:
		s.lost(route.OnReset, 502)
	case s.answerBody.End() != nil:
		s.truncate()
	default:
		s.complete(false)
	}
}

// Timer does nothing: the times of a request are kept on its client's connection.
func (b *back) Timer(*loop.Conn, int) {}

// Closed is a connection that was not made, or that broke.
func (b *back) Closed(_ *loop.Conn, err error) {
	s := b.s
	if s.reconnect() {
		return
	}
	s.up = nil
	s.pool.gone()
	if !s.open {
		s.x.NotConnected(err)
	}
	switch {
	case s.begun:
		s.truncate()
	case s.open:
		s.lost(route.OnReset, 502)
	case errors.Is(err, os.ErrDeadlineExceeded):
		s.lost(route.OnConnectFailure, 504)
	default:
		s.lost(route.OnConnectFailure, 502)
	}
}

// Shutdown does nothing: the client is told too, and its answer is the last one of this connection.
func (b *back) Shutdown(*loop.Conn) {}

// take has s use a connection.
func (s *session) take(c *loop.Conn, reused bool) {
	s.up, s.reused, s.open, s.sentUp = c, reused, reused, 0
	c.SetHandler(&s.back)
}

// send writes a part of the request to the server.
func (s *session) send(p []byte) {
	s.up.Write(p)
	s.sentUp += len(p)
}

// unsentOnKept reports whether the server's connection was kept from another request and none of this one's bytes have left.
// What comes from the server then, bytes or an end, has nothing to do with this request.
func (s *session) unsentOnKept() bool { return s.reused && !s.heard && s.up.Queued() == s.sentUp }

// reconnect moves a request of which nothing has left from a kept connection to a new one. That is safe for every method: the
// server cannot have read it. The new connection takes the old one's place in the endpoint's count.
func (s *session) reconnect() bool {
	if !s.unsentOnKept() {
		return false
	}
	old, c := s.up, s.pool.dial(s)
	if !old.MoveQueue(c, s.sentUp) {
		c.SetHandler(loop.Base{})
		c.Abort(nil)
		return false
	}
	old.SetHandler(loop.Base{})
	old.Abort(nil)
	s.up, s.reused, s.open = c, false, false
	return true
}

// granted is the end of waiting for a connection.
func (s *session) granted(c *loop.Conn, reused bool) {
	s.take(c, reused)
	s.send(s.kept.b)
	if !s.kept.whole {
		s.kept.reset()
	}
	if s.phase == atBody {
		s.client.ResumeReading()
		s.move()
	}
	s.try()
}

// drop lets go of the server, or of the wait for it.
func (s *session) drop() {
	switch {
	case s.waiting:
		s.pool.dequeue(s)
	case s.up != nil:
		s.pool.abort(s.up)
		s.up = nil
	}
}

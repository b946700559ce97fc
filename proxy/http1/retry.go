package http1

import (
	"example.com/ferry/proxy/loop"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"

	wire "example.com/ferry/protocol/http1"
)

// methods are those that routes may repeat: RFC 9110, section 9.2.2. What is not idempotent has no name here.
var methods = [...][]byte{
	wire.MethodGet: []byte("GET"), wire.MethodHead: []byte("HEAD"), wire.MethodPut: []byte("PUT"), wire.MethodDelete: []byte("DELETE"),
	wire.MethodOptions: []byte("OPTIONS"), wire.MethodTrace: []byte("TRACE"), wire.MethodPatch: nil,
}

func (s *session) method() []byte { return methods[s.head.Method] }

// repeatable reports whether the request may have to be sent again.
func (s *session) repeatable() bool {
	return !s.upgrade && (s.x.Route.Forward.Retry != nil || s.reused && s.method() != nil)
}

// outcomes are what failures are for the server's health.
var outcomes = map[route.Cause]upstream.Outcome{
	route.OnConnectFailure: upstream.ConnectFailure,
	route.OnReset:          upstream.Reset,
	route.OnTimeout:        upstream.Timeout,
}

// lost is an attempt that ended without an answer. The client gets status if there is not to be another attempt.
func (s *session) lost(why route.Cause, status int) {
	stale := why == route.OnReset && s.reused && !s.heard && !s.replayed && s.method() != nil && s.kept.whole
	s.drop()
	switch {
	case stale:
		// The server had closed the connection before it saw the request, or might have: RFC 9112, section 9.3.1. That says
		// nothing about its health.
		s.replayed = true
		s.x.Answered(upstream.Canceled)
		s.attempt()
	case s.kept.whole && s.x.Failed(s.method(), why, why != route.OnConnectFailure):
		s.attempt()
	default:
		s.x.Answered(outcomes[why])
		s.fail(status)
	}
}

// repeats throws an answer away if its status is to be answered by another attempt.
func (s *session) repeats() bool {
	status := s.answer.Status
	if s.kept.whole && s.x.Repeat(s.method(), status) {
		s.drop()
		s.attempt()
		return true
	}
	if status >= 500 {
		s.x.Answered(upstream.Failure)
	} else {
		s.x.Answered(upstream.Success)
	}
	return false
}

// attempt sends the request again.
func (s *session) attempt() {
	s.client.StopTimer(tryTimer)
	s.answer.Reset()
	if !s.choose() {
		return
	}
	if s.up != nil {
		s.up.Write(s.kept.b)
		s.client.ResumeReading()
	}
	s.try()
}

// unreadable is an answer that is not HTTP, or not what was asked for.
func (s *session) unreadable() {
	s.drop()
	s.x.Answered(upstream.Failure)
	s.fail(502)
}

// Timer is something that did not happen in time.
func (s *session) Timer(_ *loop.Conn, which int) {
	switch which {
	case idleTimer:
		s.parting = true
		s.x.Refuse(traffic.BadRequest)
		s.fail(408)
	case answerTimer:
		s.late()
	case tryTimer:
		s.lost(route.OnTimeout, 504)
	case moveTimer:
		if s.queued() != s.moved {
			s.move()
			return
		}
		s.stalled()
	}
}

// late is the end of the time for the answer.
func (s *session) late() {
	if s.waiting {
		s.drop()
		s.refused(s.x.Refuse(traffic.Overload))
		return
	}
	s.drop()
	s.x.Answered(upstream.Timeout)
	s.fail(504)
}

// move begins the time in which bytes have to move.
func (s *session) move() {
	s.moved = s.queued()
	setTimer(s.client, moveTimer, s.rules.BodyTimeout)
}

// queued is how many bytes wait for client and server to take them.
func (s *session) queued() int {
	n := s.client.Queued()
	if s.up != nil {
		n += s.up.Queued()
	}
	return n
}

// stalled is the end of the time in which bytes have to move.
func (s *session) stalled() {
	switch {
	case s.phase == atRest:
		s.lasts = false
		s.finish()
	case s.begun:
		s.truncate()
	case s.waiting || s.up != nil && s.up.Queued() > 0:
		s.parting = true
		s.late()
	default:
		s.drop()
		s.parting = true
		s.fail(408)
	}
}

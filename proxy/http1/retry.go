package http1

import (
	"example.com/ferry/proxy/route"
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
	return s.x.Route.Forward.Retry != nil || (s.reused || s.waiting) && s.method() != nil
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
		s.x.Lost(why)
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
		s.send(s.kept.b)
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

package http1

import (
	"example.com/ferry/loop"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
)

// Timer is something that did not happen in time.
func (s *session) Timer(_ *loop.Conn, which int) {
	switch which {
	case idleTimer:
		s.parting = true
		s.x.Refuse(traffic.BadRequest)
		s.fail(408)
	case answerTimer:
		if s.phase == atAnswer {
			s.late()
		} else {
			s.checkRate()
		}
	case tryTimer:
		s.lost(route.OnTimeout, 504)
	case moveTimer:
		switch unsent := s.unsent(); {
		case s.queued() != s.moved:
			s.move()
		case unsent > 0 && (s.unacked == 0 || unsent < s.unacked):
			s.unacked = unsent
			setTimer(s.client, moveTimer, s.rules.BodyTimeout)
		default:
			s.stalled()
		}
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
	s.x.Lost(route.OnTimeout)
	s.fail(504)
}

// move begins the time in which bytes have to move.
func (s *session) move() {
	s.moved, s.unacked = s.queued(), 0
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

// unsent is how many bytes client and server have not acknowledged. A peer that reads slowly lowers it long before queued.
func (s *session) unsent() int {
	n := s.client.Unsent()
	if s.up != nil {
		n += s.up.Unsent()
	}
	return n
}

// stalled is the end of the time in which bytes have to move.
func (s *session) stalled() {
	switch {
	case s.phase == atRest || s.begun:
		s.tooSlow()
	case s.waiting || s.up != nil && s.up.Queued() > 0:
		s.parting = true
		s.late()
	default:
		s.tooSlow()
	}
}

// tooSlow ends a request whose body does not come as fast as it has to.
func (s *session) tooSlow() {
	switch {
	case s.phase == atRest:
		s.lasts = false
		s.finish()
	case s.begun:
		s.truncate()
	default:
		s.drop()
		s.parting = true
		s.fail(408)
	}
}

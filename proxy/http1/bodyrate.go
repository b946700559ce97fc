package http1

import "time"

// ratePeriod is over how much time the rate of a request's body is averaged, and the grace in which there is no floor.
const ratePeriod = 10 * time.Second

// rateTimer measures the rate of a request's body. It has the number of answerTimer, which is not set before the body's end.
const rateTimer = answerTimer

// watchRate begins a period of the request's body.
func (s *session) watchRate() {
	if s.rules.BodyRate > 0 {
		s.periodFrom, s.periodPaused = s.bodySeen(), false
		s.client.SetTimer(rateTimer, ratePeriod)
	}
}

// bodySeen is how many bytes of the body have been read from the client.
func (s *session) bodySeen() int64 {
	if s.phase == atPayload {
		return int64(len(s.client.Unread()) - s.headSize)
	}
	return s.taken
}

// checkRate ends a period: a client that was slower than BodyRate loses its request. A period in which the proxy paused reading
// says nothing of the client.
func (s *session) checkRate() {
	paused := s.phase == atBody && (s.up == nil || s.up.Full())
	if s.bodySeen()-s.periodFrom >= int64(s.rules.BodyRate)*int64(ratePeriod/time.Second) || s.periodPaused || paused {
		s.watchRate()
		s.periodPaused = paused
		return
	}
	s.tooSlow()
}

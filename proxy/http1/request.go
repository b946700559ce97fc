package http1

import (
	"errors"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"

	wire "example.com/ferry/protocol/http1"
)

// maxDiscard is how much of a request's body is read, in bytes, after its answer is written, for the connection to be used
// again.
const maxDiscard = 256 << 10

// readHead takes the head of a request, and what it can do with the bytes behind it.
func (s *session) readHead(p []byte) int {
	n, err := wire.ParseRequest(p, &s.head, &s.rules.Limits)
	switch {
	case err != nil:
		s.malformed(err)
		return len(p)
	case n == 0:
		if !s.timed {
			s.timed = true
			setTimer(s.client, idleTimer, s.rules.HeaderTimeout)
		}
		return 0
	}
	if s.timed {
		s.client.StopTimer(idleTimer)
	}
	s.headSize = n
	s.x.In = int64(n)
	s.body = s.head.Body(&s.rules.Limits)
	if s.rules.plan.Log != nil {
		s.logged = append(s.logged[:0], p[:n]...)
	}
	if s.head.Method == wire.MethodConnect {
		s.x.Refuse(traffic.BadRequest)
		s.parting = true // it may take its own bytes for those of a tunnel
		s.fail(501)
		return n + s.rest(p[n:])
	}
	return s.match(p)
}

// match finds the route of the request that p begins with.
func (s *session) match(p []byte) int {
	s.ask(p)
	m := s.payload.matcher
	var r *route.Route
	answer := route.NeedPayload
	if m == nil {
		m = s.share.matcher(s.rules.plan.Table)
		r, answer = m.Match(&s.request, nil, s.head.Framing == wire.NoBody)
	}
	if answer == route.NeedPayload {
		if s.payload.matcher == nil {
			s.payload.matcher, s.payload.body = m, s.head.Body(&s.rules.Limits)
		}
		content, whole, err := s.peek(p[s.headSize:])
		if err != nil {
			s.malformed(err)
			return len(p)
		}
		if r, answer = m.Continue(&s.request, content, whole); answer == route.NeedPayload {
			s.await()
			return 0
		}
		s.payload.matcher = nil
	}
	s.share.free(m, s.rules.plan.Table)
	return s.admit(r, p)
}

// ask makes the request that route is asked about: views of p.
func (s *session) ask(p []byte) {
	h := &s.head
	s.values = values{h, p}
	s.request = route.Request{
		Method: h.MethodName.Of(p), Host: h.Authority.Of(p), Path: h.Path.Of(p), Query: h.Query.Of(p), Header: &s.values,
	}
	if len(s.request.Path) == 0 {
		s.request.Path = root
	}
}

var (
	root = []byte("/")
	goOn = []byte(wire.Continue)
)

// await waits for more of the payload.
func (s *session) await() {
	if s.phase == atHead {
		s.watchRate()
	}
	s.phase = atPayload
	setTimer(s.client, moveTimer, s.rules.BodyTimeout)
	if s.head.Expect && !s.answered {
		s.answered = true
		s.client.Write(goOn)
	}
}

// peek returns the content of the body that data begins with, from its first byte on, and whether that is all.
func (s *session) peek(data []byte) (content []byte, whole bool, err error) {
	y := &s.payload
	if s.head.Framing != wire.Chunked {
		n := int(min(s.head.Length, int64(len(data))))
		return data[:n], int64(n) == s.head.Length, nil
	}
	if y.content == nil {
		y.content = bufpool.Get(route.MaxPayload)
	}
	for len(y.content.B) < route.MaxPayload {
		n, part, err := y.body.Next(data[y.read:])
		if err != nil {
			return nil, false, err
		}
		if n == 0 {
			break
		}
		piece := part.Content.Of(data[y.read:])
		y.content.B = append(y.content.B, piece[:min(len(piece), route.MaxPayload-len(y.content.B))]...)
		y.read += n
	}
	return y.content.B, y.body.Done(), nil
}

// admit has the request go where its route says.
func (s *session) admit(r *route.Route, p []byte) int {
	n := s.headSize
	switch why := s.x.Admit(r); {
	case why != traffic.Forwarded:
		n += s.discard(p[n:])
		s.refused(why)
	case r.Redirect != nil:
		n += s.discard(p[n:])
		s.redirect(r)
	case r.Respond != nil:
		n += s.discard(p[n:])
		s.respond(r.Respond.Status, r.Respond.Headers, r.Respond.Body)
	default:
		s.forward(p)
	}
	return n + s.rest(p[n:])
}

// rest takes what is left of the body in p, behind the head.
func (s *session) rest(p []byte) int {
	switch s.phase {
	case atBody, atRest:
		return s.readBody(p)
	}
	return 0
}

// discard takes what p has of the body of a request that is not forwarded.
func (s *session) discard(p []byte) int {
	n, err := s.body.Take(p)
	s.count(n)
	if err != nil {
		s.parting = true
	}
	return n
}

func (s *session) count(n int) {
	s.taken += int64(n)
	s.x.In += int64(n)
}

// readBody takes what p has of the body, and passes it on.
func (s *session) readBody(p []byte) int {
	if s.phase == atBody && s.up == nil {
		s.periodPaused = true
		s.client.PauseReading() // there is nowhere to put it
		return 0
	}
	n, err := s.body.Take(p)
	if s.phase == atRest {
		s.taken += int64(n)
		switch {
		case err != nil || s.taken > maxDiscard && !s.body.Done():
			s.lasts = false
			s.finish()
		case s.body.Done():
			s.finish()
		}
		return n
	}
	s.count(n)
	if n > 0 {
		s.send(p[:n])
		s.kept.add(p[:n])
	}
	switch {
	case err != nil:
		s.malformed(err)
		return len(p)
	case s.body.Done():
		s.sent()
	default:
		if s.up.Full() {
			s.periodPaused = true
			s.client.PauseReading()
		}
		s.move()
	}
	return n
}

// sent is the end of the request: the answer's time begins.
func (s *session) sent() {
	s.phase = atAnswer
	s.client.StopTimer(rateTimer)
	if s.begun {
		return
	}
	s.client.StopTimer(moveTimer)
	setTimer(s.client, answerTimer, s.x.Route.Forward.Timeout)
	s.try()
}

// try begins the time of one attempt.
func (s *session) try() {
	if r := s.x.Route.Forward.Retry; r != nil && s.phase == atAnswer {
		setTimer(s.client, tryTimer, r.PerTryTimeout)
	}
}

// malformed refuses a request that cannot be read to its end.
func (s *session) malformed(err error) {
	status := 400
	var e *wire.Error
	if errors.As(err, &e) {
		status = e.Status
	}
	s.drop()
	s.x.Refuse(traffic.BadRequest)
	s.parting = true
	s.fail(status)
}

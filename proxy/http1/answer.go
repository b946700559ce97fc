package http1

import wire "example.com/ferry/protocol/http1"

// begin writes the answer's head.
func (s *session) begin(head []byte) {
	s.status = s.answer.Status
	if s.phase != atBody {
		s.client.StopTimer(answerTimer)
	}
	s.client.StopTimer(tryTimer)
	s.decoded = s.head.Minor == 0 && s.answer.Framing == wire.Chunked
	s.lasts = s.keeps() && !s.decoded && s.answer.Framing != wire.UntilClose
	s.share.response = wire.ResponseEdit{
		Close: !s.lasts, KeepAlive: s.head.Minor == 0, Decoded: s.decoded, Via: s.rules.Via, Fields: s.x.Route.ResponseEdits.HTTP1(),
	}
	s.write(wire.AppendResponse(s.share.scratch[:0], head, &s.answer, &s.share.response))
	s.begun = true
	s.answerBody = s.answer.Body(&s.rules.answers)
}

// write sends a head to the client. It was made in the share's scratch.
func (s *session) write(head []byte) {
	s.share.scratch = head
	s.client.Write(head)
	s.x.Out += int64(len(head))
}

// interim passes on an answer that another one follows.
func (s *session) interim(head []byte) {
	if s.head.Minor == 0 {
		return // RFC 9110, section 15.2
	}
	s.share.response = wire.ResponseEdit{Via: s.rules.Via}
	s.write(wire.AppendResponse(s.share.scratch[:0], head, &s.answer, &s.share.response))
	if s.client.Full() {
		s.up.PauseReading()
	}
}

// keeps reports whether the client's connection can be used for another request. It is asked once a request.
func (s *session) keeps() bool {
	if s.last() || s.parting || !s.head.KeepAlive {
		return false
	}
	if s.body.Done() {
		return true
	}
	// What is left has to be read; a client that waits for 100 Continue may send it or not.
	return s.head.Framing == wire.Length && s.head.Length-s.taken <= maxDiscard && (!s.head.Expect || s.taken > 0)
}

// pass sends on what p has of the answer's body.
func (s *session) pass(p []byte) (n int, err error) {
	if !s.decoded {
		n, err = s.answerBody.Take(p)
		if n > 0 {
			s.client.Write(p[:n])
			s.x.Out += int64(n)
		}
		return n, err
	}
	for {
		m, part, err := s.answerBody.Next(p[n:])
		if m == 0 || err != nil {
			return n, err
		}
		content := part.Content.Of(p[n:])
		s.client.Write(content)
		s.x.Out += int64(len(content))
		n += m
	}
}

// complete is the end of the answer. clean says that nothing is behind it, read or in the kernel, and that the server has not ended its side.
func (s *session) complete(clean bool) {
	switch up := s.up; {
	case !s.body.Done():
		s.pool.abort(up)
	case clean && s.answer.KeepAlive && !s.parting:
		s.pool.put(up)
	default:
		s.pool.close(up)
	}
	s.up = nil
	s.end(s.status)
	s.over()
}

// over is what follows the answer's last byte.
func (s *session) over() {
	if s.body.Done() || !s.lasts {
		s.finish()
		return
	}
	s.phase = atRest
	s.taken = 0
	s.client.StopTimer(tryTimer)
	s.watchRate()
	s.move()
	resume(s.client)
}

// truncate resets the client's connection within an answer: it must not take what it has for the whole.
func (s *session) truncate() {
	s.drop()
	s.end(s.status)
	c := s.client
	c.SetHandler(s.share.idle)
	c.Abort(errTruncated)
	s.release()
}

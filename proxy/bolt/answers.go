package bolt

import (
	"fmt"
	"slices"
)

// answers is what a client gets. A large answer passes in pieces; whatever else comes meanwhile is parked, as it must not
// stand between two of them.
type answers struct {
	from   *upstreamConn // whose answer is being written in pieces
	parked []*parked
	size   int // bytes that are parked
	own    int // bytes of them that the proxy made itself
}

// maxOwn bounds, in bytes, the responses made by the proxy itself that wait on one connection: to heartbeats and to requests that
// are not forwarded.
const maxOwn = 64 << 10

// parked is bytes to be written later: of an answer that comes in pieces, or of one or more that are whole.
type parked struct {
	bytes []byte
	from  *upstreamConn // if the answer is not all here yet
}

// write sends a whole frame to the client.
func (s *session) write(p []byte) {
	a := &s.answers
	if a.from == nil {
		s.give(p)
	} else if last := len(a.parked) - 1; last >= 0 && a.parked[last].from == nil {
		a.park(a.parked[last], p)
	} else {
		a.parked = append(a.parked, &parked{})
		a.park(a.parked[last+1], p)
	}
	s.bound()
}

// writeOwn sends a whole frame that the proxy made itself.
func (s *session) writeOwn(p []byte) {
	if s.answers.from != nil {
		s.answers.own += len(p)
	}
	s.write(p)
}

func (a *answers) park(k *parked, p []byte) {
	k.bytes = append(k.bytes, p...)
	a.size += len(p)
}

// give writes to the client.
func (s *session) give(p []byte) {
	s.client.Write(p)
	s.given += int64(len(p))
}

// bound gives up a client that does not take its answers: at once if they are too many, and otherwise if it takes nothing for
// frame_timeout.
func (s *session) bound() {
	limit := s.worker.service.setup.Load().cfg.MaxQueued
	if n := s.client.Queued() + s.answers.size; n > limit {
		s.client.Abort(fmt.Errorf("bolt: the client leaves %d bytes of answers untaken: max_queued is %d", n, limit))
	}
	if s.client.Full() && !s.slow {
		s.slow = true
		s.wait()
	}
}

// wait gives the client time to take some of its answers.
func (s *session) wait() {
	s.taken = s.given - int64(s.client.Queued())
	s.client.SetTimer(takeTimer, s.worker.service.setup.Load().cfg.FrameTimeout)
}

// look is the end of that time.
func (s *session) look() {
	switch {
	case !s.slow:
	case s.given-int64(s.client.Queued()) > s.taken:
		s.wait()
	default:
		s.client.Abort(fmt.Errorf("bolt: the client takes none of %d bytes of answers: frame_timeout", s.client.Queued()))
	}
}

// begin is before the first piece of an answer that u gets.
func (a *answers) begin(u *upstreamConn) {
	if a.from == nil {
		a.from = u
		return
	}
	u.answer.parked = &parked{from: u}
	a.parked = append(a.parked, u.answer.parked)
}

// more writes a piece of the answer that u gets.
func (s *session) more(u *upstreamConn, p []byte) {
	if s.answers.from == u {
		s.give(p)
	} else {
		s.answers.park(u.answer.parked, p)
	}
	s.bound()
}

// done is after the last piece. What was parked follows, up to the next answer that is not all here.
func (s *session) done(u *upstreamConn) {
	a := &s.answers
	if a.from != u {
		u.answer.parked.from = nil
		return
	}
	a.from = nil
	for len(a.parked) > 0 && a.from == nil {
		k := a.parked[0]
		a.parked = slices.Delete(a.parked, 0, 1)
		s.give(k.bytes)
		a.size -= len(k.bytes)
		a.from = k.from
	}
	a.own = min(a.own, a.size)
}

// lost is the end of an answer in its middle. It reports whether the client can be told: it cannot if it has seen some of it.
func (s *session) lost(u *upstreamConn, cause error) bool {
	a := &s.answers
	if a.from == u {
		s.client.Abort(fmt.Errorf("bolt: an answer ended in its middle: %w", cause))
		return false
	}
	k := u.answer.parked
	a.size -= len(k.bytes)
	a.own = min(a.own, a.size)
	a.parked = slices.DeleteFunc(a.parked, func(other *parked) bool { return other == k })
	return true
}

// goOn has a server that waited for the client send on.
func (a *answers) goOn() {
	if a.from != nil {
		a.from.resume()
	}
}

package bolt

import (
	"fmt"
	"slices"
)

// A server that reads too slowly is not sent more and more: each client whose frame has filled the queue, or found it full, is
// not read until the queue has shrunk. Frames may be of any size then, and answered or not, and a client has one beyond the
// bound at most.

// hold has s wait for the server, if it takes no more for now.
func (u *upstreamConn) hold(s *session) {
	if s.held != nil || !u.socket.Full() {
		return
	}
	s.held = u
	if u.holds = append(u.holds, s); len(u.holds) == 1 {
		u.watch(s)
	}
}

// letGo has those that wait go on.
func (u *upstreamConn) letGo() {
	held := u.holds
	u.holds = nil
	for _, s := range held {
		s.held = nil
		s.settle()
	}
}

// forget is about a session that has ended.
func (u *upstreamConn) forget(s *session) {
	u.holds = slices.DeleteFunc(u.holds, func(other *session) bool { return other == s })
}

// watch gives the server time to take some of its queue, as long as it is given for a frame to s.
func (u *upstreamConn) watch(s *session) {
	u.queued = u.socket.Queued()
	u.socket.SetTimer(queueTimer, s.worker.service.setup.Load().cfg.FrameTimeout)
}

// stuck is the end of that time.
func (u *upstreamConn) stuck() {
	switch {
	case len(u.holds) == 0:
	case u.socket.Queued() < u.queued:
		u.watch(u.holds[0])
	default:
		u.abort(fmt.Errorf("bolt: %v takes none of %d bytes of requests: frame_timeout", u.pool.endpoint.Addr(), u.socket.Queued()))
	}
}

package bolt

import (
	"errors"
	"fmt"
	"time"

	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/traffic"
)

// largeFrame is the length in bytes above which a frame passes in pieces.
const largeFrame = 64 << 10

// session handles a client's connection while it has something in flight.
type session struct {
	worker   *worker
	client   *loop.Conn
	dialect  wire.Dialect // 0 before the first frame
	first    *request     // in flight
	inFlight int
	upload   upload
	answers  answers
	held     *upstreamConn // whose server takes no more: no further frame is looked at
	given    int64         // bytes of answers
	taken    int64         // bytes of them the client had taken when takeTimer was set

	partial bool // a frame has begun and not ended
	reading bool // Data is at work
	paused  bool // reading is
	unread  bool // Data is called once more, with what it has left
	slow    bool // takeTimer is set
	ended   bool // the client's side is
	leaving leaving
}

// leaving is how far a session is that was told to end.
type leaving uint8

const (
	staying   leaving = iota
	lastCalls         // as long as there is something in flight, more may come
	deaf              // nothing is taken any more
	silent            // and nothing is written
)

// lastCall is how long a client may go on with requests, and later how long it may take to end its side.
const lastCall = time.Second

var _ loop.Shutdowner = (*session)(nil)

func (s *session) Opened(*loop.Conn) {}

// Data takes whole frames, and large ones in pieces.
func (s *session) Data(c *loop.Conn, p []byte) int {
	st := s.worker.now()
	s.reading, s.unread = true, false
	at, frames := 0, 0
	for at < len(p) && !s.blocked(st) {
		if s.deaf() {
			at = len(p)
			break
		}
		n, err := s.take(st, p[at:])
		if err != nil {
			s.leaving = deaf // what was asked before is answered
			at = len(p)
			break
		}
		if n == 0 {
			break
		}
		at += n
		frames++
	}
	s.reading = false
	s.clock(st, at < len(p) && !s.blocked(st) || s.upload.left > 0, frames > 0)
	s.settle()
	return at
}

// clock bounds the time a frame takes that is not all here yet.
func (s *session) clock(st *setup, partial, progress bool) {
	switch {
	case !partial:
		s.client.StopTimer(frameTimer)
	case !s.partial || progress && s.upload.left == 0:
		s.client.SetTimer(frameTimer, st.cfg.FrameTimeout)
	}
	s.partial = partial
}

// take takes the frame, or the piece of one, that p begins with, and returns its length: 0 if more has to be there. After an
// error nobody knows where the next frame begins.
func (s *session) take(st *setup, p []byte) (int, error) {
	if s.upload.left > 0 {
		return s.piece(p), nil
	}
	limits := wire.Limits{MaxFrame: st.cfg.MaxFrame, Dialect: s.dialect}
	f, need, err := wire.Next(p, limits)
	if err != nil {
		s.malformed(st, f)
		return 0, err
	}
	size := f.FrameLen()
	if need > 0 || size <= largeFrame && len(p) < size {
		return 0, nil
	}
	s.dialect = f.Dialect()
	if f.Type() == wire.Response || f.Command() == wire.CommandHeartbeat || f.Command() == wire.CommandGoaway {
		s.own(f)
		s.upload.left = size // nothing of it goes anywhere
		return s.piece(p), nil
	}
	if size > largeFrame {
		return s.large(st, f, p)
	}
	return size, s.small(st, f, p[:size])
}

// own handles what is not forwarded: heartbeats are answered, a client that goes away needs nothing, and answers to what
// nobody asked are counted.
func (s *session) own(f wire.Frame) {
	switch {
	case f.Type() == wire.Response:
		s.worker.late.Add(1)
	case f.Command() == wire.CommandHeartbeat:
		w := s.worker
		w.scratch = wire.AppendHeartbeatAck(w.scratch[:0], f)
		s.writeOwn(w.scratch)
	}
}

// malformed answers what cannot be a frame. If not even its fixed header is there, f is empty.
func (s *session) malformed(st *setup, f wire.Frame) {
	w := s.worker
	st.plan.Listener.Refused(w.loop.Index(), traffic.BadRequest)
	if f.FrameLen() > 0 {
		w.scratch = wire.AppendResponse(w.scratch[:0], f, wire.StatusCodec)
		s.writeOwn(w.scratch)
	}
}

// deaf reports whether what comes is not looked at any more: all but the rest of a frame that is passing.
func (s *session) deaf() bool {
	return s.leaving >= deaf && s.upload.left == 0 && s.upload.waits == nil
}

// blocked reports whether nothing more is to be taken of the client for now.
func (s *session) blocked(st *setup) bool {
	if up := &s.upload; up.waits != nil || up.left > 0 {
		return s.client.Full() || up.blocked() // what has begun may end
	}
	return s.inFlight >= st.cfg.Requests || s.client.Full() || s.answers.own >= maxOwn || s.held != nil
}

// settle does what follows from a change: pauses or resumes reading, and gives way to the shared handler when nothing is in
// flight.
func (s *session) settle() {
	if s.reading {
		return
	}
	st, c := s.worker.service.setup.Load(), s.client
	if blocked := !s.deaf() && s.blocked(st); blocked != s.paused {
		s.paused = blocked
		if blocked {
			c.PauseReading()
			return
		}
		c.ResumeReading()
		s.unread = len(c.Unread()) > 0
	}
	if s.inFlight > 0 || s.paused || s.unread || s.answers.from != nil || s.upload.left > 0 {
		return
	}
	switch {
	case s.ended:
		c.Close()
	case s.leaving == silent || s.partial && s.leaving < deaf:
	case s.leaving != staying:
		s.leaving = silent
		c.CloseWrite()
		c.SetTimer(leaveTimer, lastCall)
	default:
		s.rest(st)
	}
}

// rest gives the connection back to the handler all idle ones share.
func (s *session) rest(st *setup) {
	w, c := s.worker, s.client
	h := &w.idle[place(s.dialect)]
	c.SetHandler(h)
	h.rest(c, st)
	w.freeSession(s)
}

func (s *session) Drained(c *loop.Conn) {
	s.slow = false
	c.StopTimer(takeTimer)
	s.answers.goOn()
	s.settle()
}

// HalfClosed is the client's end: what it has asked is still answered. A frame that has not arrived whole never will.
func (s *session) HalfClosed(c *loop.Conn) {
	if s.partial {
		s.worker.service.setup.Load().plan.Listener.Refused(s.worker.loop.Index(), traffic.BadRequest)
	}
	r := s.upload.abort(errHalfFrame)
	s.upload.left = 0
	s.ended, s.partial = true, false
	if r != nil {
		s.finish(r, wire.StatusClosed)
	}
	s.settle()
}

var errHalfFrame = errors.New("bolt: the client left in the middle of a frame that was being forwarded")

func (s *session) Timer(c *loop.Conn, which int) {
	switch {
	case which == frameTimer && s.partial:
		st := s.worker.service.setup.Load()
		st.plan.Listener.Refused(s.worker.loop.Index(), traffic.BadRequest)
		c.Abort(fmt.Errorf("bolt: a frame has not ended after %v: frame_timeout", st.cfg.FrameTimeout))
	case which == takeTimer:
		s.look()
	case which != leaveTimer:
	case s.leaving == lastCalls:
		s.leaving = deaf
		s.settle()
	default:
		c.Close()
	}
}

// Shutdown has the connection end with its last answer. Requests that come before that are served, for a while.
func (s *session) Shutdown(c *loop.Conn) {
	s.leaving = max(s.leaving, lastCalls)
	c.SetTimer(leaveTimer, lastCall)
	s.settle()
}

// Closed ends what nobody waits for any more.
func (s *session) Closed(*loop.Conn, error) {
	s.reading = true                 // nothing is settled any more
	_ = s.upload.abort(errHalfFrame) // it is among those in flight, which end below
	if s.held != nil {
		s.held.forget(s)
	}
	for s.first != nil {
		r := s.first
		if r.conn != nil {
			r.conn.drop(r)
		}
		s.end(r, 0, 0)
	}
	s.worker.gone()
	s.worker.freeSession(s)
}

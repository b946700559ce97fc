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

// session is the handler of a client's connection while something is in flight: a request, part of a frame, or a
// response.
type session struct {
	loopState    *loopState
	client       *loop.Conn
	addr         string       // the client's IP address, once ClientAddr was called
	dialect      wire.Dialect // 0 before the first frame
	firstRequest *request     // first request in flight; the requests form a linked list
	inFlight     int          // number of requests in flight
	upload       upload
	responses    responseQueue
	blockedBy    *upstreamConn // connection whose queue is full; no frame is read until it calls unblock
	bytesWritten int64         // bytes of responses written or queued
	bytesTaken   int64         // bytesWritten minus the queued bytes, when slowClientTimer was set

	phase         sessionPhase
	midFrame      bool // part of a frame has arrived
	inData        bool // Data is running, which calls update when it ends
	readingPaused bool
	dataPending   bool // bytes are unread, and the loop will call Data again
	slowClient    bool // slowClientTimer is set
	halfClosed    bool // the client has closed its side
}

// sessionPhase is the stage of closing a client's connection. Only enter changes it.
//
//	phaseOpen ──Shutdown──► phaseDraining ──drainTime──► phaseDiscarding
//	    └─────────────malformed frame───────────────────────────▲
//	phaseDraining, phaseDiscarding ──nothing in flight──► phaseWriteClosed ──the client closes its side, or drainTime──► closed
//	any phase ──the client closes its side, nothing in flight──► closed
type sessionPhase uint8

const (
	phaseOpen        sessionPhase = iota
	phaseDraining                 // requests are still accepted while other requests are in flight
	phaseDiscarding               // bytes from the client are discarded; responses are still written
	phaseWriteClosed              // the proxy has closed its side
)

// drainTime bounds phaseDraining and phaseWriteClosed, and how long a draining connection waits for its first request.
const drainTime = time.Second

var _ loop.Shutdowner = (*session)(nil)

func (s *session) Opened(*loop.Conn) {}

// enter changes the phase. A session never returns to an earlier phase.
func (s *session) enter(p sessionPhase) {
	if p <= s.phase {
		return
	}
	s.phase = p
	if p == phaseWriteClosed {
		s.client.CloseWrite()
		s.client.SetTimer(closeTimer, drainTime)
	}
}

// Data reads whole frames, and large frames in pieces.
func (s *session) Data(c *loop.Conn, p []byte) int {
	st := s.loopState.currentSettings()
	s.inData, s.dataPending = true, false
	at, frames := 0, 0
	for at < len(p) && !s.blocked(st) {
		if s.discarding() {
			at = len(p)
			break
		}
		n, err := s.readFrame(st, p[at:])
		if err != nil {
			s.enter(phaseDiscarding) // earlier requests still get their responses
			at = len(p)
			break
		}
		if n == 0 {
			break
		}
		at += n
		frames++
	}
	s.inData = false
	s.updateFrameTimer(st, at < len(p) && !s.blocked(st) || s.upload.bytesLeft > 0, frames > 0)
	s.update()
	return at
}

// updateFrameTimer starts or stops the timeout for a frame that has arrived in part.
func (s *session) updateFrameTimer(st *settings, midFrame, progress bool) {
	switch {
	case !midFrame:
		s.client.StopTimer(frameTimer)
	case !s.midFrame || progress && s.upload.bytesLeft == 0:
		s.client.SetTimer(frameTimer, st.config.FrameTimeout)
	}
	s.midFrame = midFrame
}

// readFrame processes the frame at the start of p, or the next piece of a large frame. It returns the number of bytes
// processed, or 0 if more bytes have to arrive. After an error the stream cannot be resynchronized.
func (s *session) readFrame(st *settings, p []byte) (int, error) {
	if s.upload.bytesLeft > 0 {
		return s.uploadData(p), nil
	}
	limits := wire.Limits{MaxFrame: st.config.MaxFrame, Dialect: s.dialect}
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
		s.handleControlFrame(f)
		s.upload.bytesLeft = size // discard the frame
		return s.uploadData(p), nil
	}
	if size > largeFrame {
		return s.forwardLarge(st, f, p)
	}
	return size, s.forwardWhole(st, f, p[:size])
}

// handleControlFrame handles a frame that is not forwarded. It acknowledges a heartbeat, counts a response as late, and ignores
// a GOAWAY.
func (s *session) handleControlFrame(f wire.Frame) {
	switch {
	case f.Type() == wire.Response:
		s.loopState.lateResponses.Add(1)
	case f.Command() == wire.CommandHeartbeat:
		ls := s.loopState
		ls.scratch = wire.AppendHeartbeatAck(ls.scratch[:0], f)
		s.writeControl(ls.scratch)
	}
}

// malformed counts and rejects bytes that are not a valid frame. f is empty if its fixed header is incomplete; then
// there is no id to respond to.
func (s *session) malformed(st *settings, f wire.Frame) {
	ls := s.loopState
	st.plan.Listener.Refused(ls.loop.Index(), traffic.BadRequest)
	if f.FrameLen() > 0 {
		ls.scratch = wire.AppendResponse(ls.scratch[:0], f, wire.StatusCodec)
		s.writeControl(ls.scratch)
	}
}

// discarding reports whether bytes from the client are discarded. The rest of a frame that is being forwarded is not
// discarded.
func (s *session) discarding() bool {
	return s.phase >= phaseDiscarding && s.upload.bytesLeft == 0 && s.upload.pending == nil
}

// blocked reports whether reading from the client is paused. A large frame that has begun is read to its end even if
// a limit is reached.
func (s *session) blocked(st *settings) bool {
	if up := &s.upload; up.pending != nil || up.bytesLeft > 0 {
		return s.client.Full() || up.blocked()
	}
	return s.inFlight >= st.config.Requests || s.client.Full() || s.responses.controlBytes >= maxControlBytes || s.blockedBy != nil
}

// update is called after each change of state. It pauses or resumes reading. If nothing is in flight, update closes
// the connection or hands the connection to the idleHandler.
func (s *session) update() {
	if s.inData {
		return
	}
	st, c := s.loopState.service.settings.Load(), s.client
	if blocked := !s.discarding() && s.blocked(st); blocked != s.readingPaused {
		s.readingPaused = blocked
		if blocked {
			c.PauseReading()
			return
		}
		c.ResumeReading()
		s.dataPending = len(c.Unread()) > 0
	}
	if s.inFlight > 0 || s.readingPaused || s.dataPending || s.responses.current != nil || s.upload.bytesLeft > 0 {
		return
	}
	switch {
	case s.halfClosed:
		c.Close()
	case s.midFrame && s.phase < phaseDiscarding:
	case s.phase != phaseOpen:
		s.enter(phaseWriteClosed)
	default:
		s.becomeIdle(st)
	}
}

// becomeIdle hands the connection to the idleHandler and frees the session.
func (s *session) becomeIdle(st *settings) {
	ls, c := s.loopState, s.client
	h := &ls.idle[dialectIndex(s.dialect)]
	c.SetHandler(h)
	h.startTimer(c, st)
	ls.freeSession(s)
}

func (s *session) Drained(c *loop.Conn) {
	s.slowClient = false
	c.StopTimer(slowClientTimer)
	s.responses.resume()
	s.update()
}

// HalfClosed is called when the client has closed its side. Complete requests still get their responses. An
// incomplete frame is dropped.
func (s *session) HalfClosed(*loop.Conn) {
	if s.midFrame {
		s.loopState.service.settings.Load().plan.Listener.Refused(s.loopState.loop.Index(), traffic.BadRequest)
	}
	r := s.upload.abort(errHalfFrame)
	s.upload.bytesLeft = 0
	s.halfClosed, s.midFrame = true, false
	if r != nil {
		s.respondStatus(r, wire.StatusClosed)
	}
	s.update()
}

var errHalfFrame = errors.New("bolt: the client closed its side within a frame that was being forwarded")

func (s *session) Timer(c *loop.Conn, which int) {
	switch {
	case which == frameTimer && s.midFrame:
		st := s.loopState.service.settings.Load()
		st.plan.Listener.Refused(s.loopState.loop.Index(), traffic.BadRequest)
		c.Abort(fmt.Errorf("bolt: a frame has not ended after %v: frame_timeout", st.config.FrameTimeout))
	case which == slowClientTimer:
		s.checkSlowClient()
	case which != closeTimer:
	case s.phase == phaseDraining:
		s.enter(phaseDiscarding)
		s.update()
	default:
		c.Close()
	}
}

// Shutdown closes the connection after the last response.
func (s *session) Shutdown(c *loop.Conn) {
	s.enter(phaseDraining)
	c.SetTimer(closeTimer, drainTime)
	s.update()
}

// Closed ends the requests in flight.
func (s *session) Closed(*loop.Conn, error) {
	s.inData = true // stops update from doing anything
	_ = s.upload.abort(errHalfFrame)
	if s.blockedBy != nil {
		s.blockedBy.unblocked(s)
	}
	for s.firstRequest != nil {
		r := s.firstRequest
		if r.upstream != nil {
			r.upstream.cancel(r)
		}
		s.finishRequest(r, 0, 0)
	}
	s.loopState.clientClosed()
	s.loopState.freeSession(s)
}

// block pauses reading from the client until unblock, because the queue of u is full. It returns false if the client was already paused.
func (s *session) block(u *upstreamConn) bool {
	if s.blockedBy != nil {
		return false
	}
	s.blockedBy = u
	return true
}

func (s *session) unblock() {
	s.blockedBy = nil
	s.update()
}

// resume continues an upload that waits for its connection.
func (s *session) resume() { s.update() }

// closing reports whether the client's connection is about to be closed. A connection to a server that is opened for it is closed when idle.
func (s *session) closing() bool { return s.phase != phaseOpen }

func (s *session) frameTimeout() time.Duration {
	return s.loopState.service.settings.Load().config.FrameTimeout
}

func (s *session) checksCRC() bool { return s.loopState.service.settings.Load().config.CheckCRC }

package bolt

import (
	"math"
	"time"

	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
)

// answer is a large answer on its way from a server to a client.
type answer struct {
	r       *request // nil if nobody waits for it any more
	status  wire.Status
	left    int           // bytes not taken yet
	timeout time.Duration // frame_timeout
	delta   uint32        // by which the CRC changes
	parked  *parked       // where it goes as long as the client gets another one
}

// Data takes whole answers, and large ones in pieces.
func (u *upstreamConn) Data(_ *loop.Conn, p []byte) int {
	u.heard, u.missed = u.pool.loop.Now(), 0
	at := 0
	for at < len(p) && !u.paused {
		n, err := u.read(p[at:])
		if err != nil {
			u.abort(err)
			return len(p)
		}
		if n == 0 {
			break
		}
		at += n
	}
	u.settle()
	return at
}

// read takes the frame, or the piece of one, that p begins with, and returns its length: 0 if more has to be there.
func (u *upstreamConn) read(p []byte) (int, error) {
	if u.answer.left > 0 {
		return u.piece(p), nil
	}
	f, need, err := wire.Next(p, wire.Limits{MaxFrame: math.MaxInt32, Dialect: u.dialect})
	if err != nil {
		return 0, err
	}
	size := f.FrameLen()
	switch {
	case need > 0 || size <= largeFrame && len(p) < size:
		return 0, nil
	case f.Type() != wire.Response:
		u.asked(f)
	case u.sent.find(f.ID()) != nil:
		r := u.sent.find(f.ID())
		u.sent.remove(r)
		if size <= largeFrame {
			return size, u.answered(r, f, p[:size])
		}
		return u.startAnswer(r, f, p), nil
	case f.Command() != wire.CommandHeartbeat:
		u.pool.worker.late.Add(1)
	}
	u.answer.left = size // nothing of it goes anywhere
	return u.piece(p), nil
}

// asked handles what a server sends of its own: heartbeats, and that it is about to close. Nobody here serves its requests.
func (u *upstreamConn) asked(f wire.Frame) {
	status := wire.StatusNoProcessor
	switch f.Command() {
	case wire.CommandGoaway:
		u.retiring = true
		return
	case wire.CommandHeartbeat:
		status = wire.StatusSuccess
	}
	w := u.pool.worker
	w.scratch = wire.AppendResponse(w.scratch[:0], f, status)
	if u.own = min(u.own, u.socket.Queued()+len(u.owed)); u.own+len(w.scratch) > maxOwn {
		return // the server does not read the responses it has asked for
	}
	u.own += len(w.scratch)
	if u.uploading() {
		u.owed = append(u.owed, w.scratch...)
	} else {
		u.socket.Write(w.scratch)
	}
}

// answered passes on an answer that is all there.
func (u *upstreamConn) answered(r *request, f wire.Frame, frame []byte) error {
	s := r.session
	r.conn = nil
	if s.worker.service.setup.Load().cfg.CheckCRC {
		if err := f.CheckCRC(); err != nil {
			u.retiring = true // another attempt takes another connection
			r.fail(route.OnReset, true)
			return err
		}
	}
	status := f.Status()
	r.x.Answered(outcome(status))
	r.x.Out = int64(len(frame))
	f.SetID(r.id)
	s.write(frame)
	s.end(r, traffic.Bolt(status), int(status))
	return nil
}

// startAnswer sends the first piece of a large answer.
func (u *upstreamConn) startAnswer(r *request, f wire.Frame, p []byte) int {
	status := f.Status()
	r.x.Answered(outcome(status))
	r.x.Out = int64(f.FrameLen())
	timeout := r.session.worker.service.setup.Load().cfg.FrameTimeout
	u.answer = answer{r: r, status: status, left: f.FrameLen(), timeout: timeout}
	r.session.answers.begin(u)
	u.socket.SetTimer(answerTimer, timeout)
	delta := f.SetID(r.id) // which puts right what is there of the CRC
	n := u.piece(p)
	u.answer.delta = delta
	return n
}

// piece passes on the next bytes of a large answer.
func (u *upstreamConn) piece(p []byte) int {
	a := &u.answer
	n := min(len(p), a.left)
	r := a.r
	if r != nil {
		wire.PatchCRC(p[:n], a.left, a.delta)
		r.session.more(u, p[:n])
	}
	if a.left -= n; a.left == 0 {
		u.pieced(r)
	} else if r != nil && r.session.answers.from == u && r.session.client.Full() && u.unwanted() {
		u.pause()
	}
	return n
}

// unwanted reports whether nobody waits for this server but those it answers.
func (u *upstreamConn) unwanted() bool {
	return u.load() == 0 && u.uploader == nil && len(u.holds) == 0
}

// pieced is the end of a large answer.
func (u *upstreamConn) pieced(r *request) {
	status := u.answer.status
	if r != nil {
		r.session.done(u)
	}
	u.answer = answer{}
	u.socket.StopTimer(answerTimer)
	if r != nil {
		r.conn = nil
		r.session.end(r, traffic.Bolt(status), int(status))
	}
}

// lose is the end of the connection in the middle of an answer.
func (u *upstreamConn) lose(err error) {
	r := u.answer.r
	if r == nil {
		return
	}
	if err == nil {
		err = errServerClosed
	}
	s := r.session
	told := s.lost(u, err)
	u.answer, r.conn = answer{}, nil
	if told {
		s.finish(r, wire.StatusClosed)
	}
}

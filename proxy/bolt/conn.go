package bolt

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// The timers of a connection to a server.
const (
	deadlineTimer = iota
	beatTimer
	answerTimer
	queueTimer // until the server takes some of what is queued
)

// upstreamConn is one connection to a server, shared by requests of many clients.
type upstreamConn struct {
	pool     *pool
	socket   *loop.Conn
	dialect  wire.Dialect
	waiting  []*request // until it is open
	sent     pending
	uploader *session   // whose large frame is on its way, or about to be
	holds    []*session // that wait for the server to take more
	queued   int        // when queueTimer was set
	owed     []byte     // answers to the server's own questions, to be written when that frame has ended
	own      int        // bytes of such answers that are queued or owed, at most
	answer   answer

	earliest time.Duration // when deadlineTimer is due; 0 if it is not set
	used     time.Duration // when something was last sent for a client
	heard    time.Duration // when something last came
	missed   int           // heartbeats

	open     bool
	paused   bool // nothing is read until a client takes more
	brief    bool // to be closed when it is not used
	retiring bool // and not to be used any more
}

var _ loop.Shutdowner = (*upstreamConn)(nil)

// load is the requests it has.
func (u *upstreamConn) load() int { return len(u.waiting) + u.sent.count }

func (u *upstreamConn) empty() bool {
	return u.load() == 0 && u.uploader == nil && u.answer.left == 0
}

// uploading reports whether a large frame has begun and not ended: anything else that is written would end up in its middle.
func (u *upstreamConn) uploading() bool { return u.uploader != nil && u.uploader.upload.waits == nil }

// take sends a request's frame f, whose bytes are frame and lent, or keeps it until there is a connection.
func (u *upstreamConn) take(r *request, f wire.Frame, frame []byte) {
	r.conn = u
	if !u.open {
		if !r.x.Cluster.Wait() {
			r.conn = nil
			r.x.Answered(upstream.Canceled)
			r.refuse(traffic.Overload)
			return
		}
		r.keep(frame)
		u.waiting = append(u.waiting, r)
		r.attempt(u.pool.loop.Now())
		u.due(r.deadline)
		return
	}
	u.write(r, f, frame)
}

func (u *upstreamConn) write(r *request, f wire.Frame, frame []byte) {
	now := u.pool.loop.Now()
	u.used = now
	u.resume() // now somebody else waits for this server too
	if r.oneway {
		f.SetID(u.sent.id())
		u.socket.Write(frame)
		u.hold(r.session)
		r.conn = nil
		r.session.end(r, traffic.Bolt(wire.StatusSuccess), 0)
		return
	}
	if r.repeats {
		r.keep(frame)
	}
	f.SetID(u.sent.add(r))
	u.socket.Write(frame)
	u.hold(r.session)
	if r.copy != nil && !r.repeats {
		r.copy.Release()
		r.copy = nil
	}
	r.attempt(now)
	u.due(r.deadline)
}

func (u *upstreamConn) Opened(*loop.Conn) {
	now := u.pool.loop.Now()
	u.open, u.used, u.heard = true, now, now
	waiting := u.waiting
	u.waiting = nil
	for _, r := range waiting {
		r.x.Cluster.Unwait()
		f, _, _ := wire.Next(r.copy.B, anySize)
		u.write(r, f, r.copy.B)
	}
	if u.uploader != nil {
		u.uploader.settle()
	}
	u.beat()
	u.settle()
}

// drop forgets a request whose client is gone. Its answer will find nobody.
func (u *upstreamConn) drop(r *request) {
	r.conn = nil
	switch {
	case u.answer.r == r:
		u.answer.r, u.answer.parked = nil, nil
		u.resume()
	case u.sent.find(r.sentAs) == r:
		u.sent.remove(r)
	default:
		r.x.Cluster.Unwait()
		u.waiting = slices.DeleteFunc(u.waiting, func(other *request) bool { return other == r })
	}
	u.settle()
}

// settle closes a connection that is not needed any more.
func (u *upstreamConn) settle() {
	if (u.brief || u.retiring || u.pool.retired) && u.empty() {
		u.retire()
	}
}

func (u *upstreamConn) retire() {
	u.retiring = true
	if u.empty() {
		u.socket.Close()
	}
}

// abort ends the connection at once; nothing is sent over it any more.
func (u *upstreamConn) abort(cause error) {
	u.retiring = true
	u.socket.Abort(cause)
}

// uploaded is the end of a large frame, or of the wish to send one.
func (u *upstreamConn) uploaded() {
	u.uploader = nil
	if len(u.owed) > 0 {
		u.socket.Write(u.owed)
		u.owed = nil
	}
	u.settle()
}

// pause stops reading while the client takes no more of a large response. That time does not count against the server.
func (u *upstreamConn) pause() {
	u.paused = true
	u.socket.PauseReading()
	u.socket.StopTimer(answerTimer)
}

// resume reads on after pause. From now on the server has frame_timeout for the rest.
func (u *upstreamConn) resume() {
	if !u.paused {
		return
	}
	u.paused = false
	u.heard, u.missed = u.pool.loop.Now(), 0
	u.socket.ResumeReading()
	u.socket.SetTimer(answerTimer, u.answer.timeout)
}

func (u *upstreamConn) Drained(*loop.Conn) {
	u.letGo()
	if u.uploader != nil {
		u.uploader.settle()
	}
}

func (u *upstreamConn) HalfClosed(*loop.Conn) { u.abort(errServerClosed) }

var errServerClosed = errors.New("bolt: the server closed the connection")

func (u *upstreamConn) Shutdown(*loop.Conn) {
	u.brief = true
	u.settle()
}

func (u *upstreamConn) Timer(_ *loop.Conn, which int) {
	switch {
	case which == deadlineTimer:
		u.expire()
	case which == beatTimer:
		u.beat()
	case which == queueTimer:
		u.stuck()
	case u.answer.left > 0:
		u.abort(fmt.Errorf("bolt: an answer of %v has not ended in time: frame_timeout", u.pool.endpoint.Addr()))
	}
}

func (u *upstreamConn) Closed(_ *loop.Conn, err error) {
	u.retiring = true
	u.pool.endpoint.Disconnect()
	u.pool.remove(u)
	u.letGo()
	why := route.OnConnectFailure
	if u.open {
		why = route.OnReset
	}
	if s := u.uploader; s != nil {
		u.uploader, s.upload.conn = nil, nil
		if r := s.upload.waits; r != nil {
			if !u.open {
				r.x.NotConnected(err)
			}
			r.fail(why, false)
		}
		s.settle()
	}
	u.lose(err)
	for _, r := range u.waiting {
		r.x.Cluster.Unwait()
		r.x.NotConnected(err)
		r.fail(why, false)
	}
	for _, r := range u.sent.slots {
		if r != nil {
			r.fail(why, true)
		}
	}
}

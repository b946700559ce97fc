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

// The timers of a connection to an endpoint.
const (
	deadlineTimer     = iota // bounds the requests in flight
	heartbeatTimer           // checks that the server responds, and that the connection is used
	responseTimer            // bounds the time that a large response takes
	stalledWriteTimer        // bounds the time in which the server reads nothing
)

// upstreamConn is one connection to an endpoint, shared by requests of many clients.
//
//	connecting ──Opened──► connected ──retire, nothing in flight──► closed
//	connecting, connected ──abort, the server closes──► closed: requests fail
//
// retiring keeps new requests away in either state. paused stops reading while connected.
type upstreamConn struct {
	pool     *pool
	socket   *loop.Conn
	dialect  wire.Dialect
	unsent   []*request      // until the connection is open
	sent     pendingRequests // until the response
	response largeResponse   // that is being read

	uploader        downstream   // has an upload here, or is about to
	blocked         []downstream // wait until the server has read its queue
	queuedBefore    int          // bytes queued when stalledWriteTimer was set
	deferredControl []byte       // responses to the server's own frames, to be written behind the upload
	controlBytes    int          // at least the bytes of such responses that are queued or deferred

	nextDeadline     time.Duration // for which deadlineTimer is set; 0 if it is not
	usedAt           time.Duration // when a request was last sent
	readAt           time.Duration // when bytes were last read
	missedHeartbeats int

	connected     bool
	paused        bool // reading is paused for a slow client
	closeWhenIdle bool
	retiring      bool // no request is sent any more
}

var _ loop.Shutdowner = (*upstreamConn)(nil)

// load returns the number of requests without a response.
func (u *upstreamConn) load() int { return len(u.unsent) + u.sent.count }

func (u *upstreamConn) idle() bool {
	return u.load() == 0 && u.uploader == nil && u.response.left == 0
}

// midUpload reports whether a large frame has begun and not ended: nothing else may be written.
func (u *upstreamConn) midUpload() bool { return u.uploader != nil && u.uploader.uploading() }

// send sends a request's frame f, whose bytes are frame and lent. It keeps a copy until the connection is open.
func (u *upstreamConn) send(r *request, f wire.Frame, frame []byte) {
	r.upstream = u
	if u.connected {
		u.write(r, f, frame)
		return
	}
	if !r.x.Cluster.Wait() {
		r.upstream = nil
		r.x.EndAttempt(upstream.Canceled)
		r.refuse(traffic.Overload)
		return
	}
	r.keepReplay(frame)
	u.unsent = append(u.unsent, r)
	r.setDeadline(u.pool.loop.Now())
	u.watchDeadline(r.deadline)
}

func (u *upstreamConn) write(r *request, f wire.Frame, frame []byte) {
	now := u.pool.loop.Now()
	u.usedAt = now
	u.resume() // a slow client must not delay this request
	if r.oneway {
		f.SetID(u.sent.nextID())
		u.socket.Write(frame)
		u.blockIfFull(r.downstream)
		r.upstream = nil
		r.downstream.endRequest(r, wire.StatusSuccess)
		return
	}
	if r.replayable {
		r.keepReplay(frame)
	}
	f.SetID(u.sent.add(r))
	u.socket.Write(frame)
	u.blockIfFull(r.downstream)
	if r.replay != nil && !r.replayable {
		r.replay.Release()
		r.replay = nil
	}
	r.setDeadline(now)
	u.watchDeadline(r.deadline)
}

func (u *upstreamConn) Opened(*loop.Conn) {
	now := u.pool.loop.Now()
	u.connected, u.usedAt, u.readAt = true, now, now
	unsent := u.unsent
	u.unsent = nil
	for _, r := range unsent {
		r.x.Cluster.Unwait()
		f, _, _ := wire.Next(r.replay.B, noLimits)
		u.write(r, f, r.replay.B)
	}
	if u.uploader != nil {
		u.uploader.resume()
	}
	u.checkLiveness()
	u.closeIfDone()
}

// cancel gives up a request whose client has left. Its response will be discarded.
func (u *upstreamConn) cancel(r *request) {
	r.upstream = nil
	switch {
	case u.response.request == r:
		u.response.request = nil
		u.resume()
	case u.sent.find(r.sentID) == r:
		u.sent.remove(r)
	default:
		r.x.Cluster.Unwait()
		u.unsent = slices.DeleteFunc(u.unsent, func(other *request) bool { return other == r })
	}
	u.closeIfDone()
}

// closeIfDone closes a connection that is idle and not needed any more.
func (u *upstreamConn) closeIfDone() {
	if u.closeWhenIdle || u.retiring || u.pool.retired {
		u.retire()
	}
}

// retire closes the connection when it is idle. No request is sent from then on.
func (u *upstreamConn) retire() {
	if u.idle() {
		u.retiring = true
		u.socket.Close()
	}
}

// abort ends the connection at once.
func (u *upstreamConn) abort(cause error) {
	u.retiring = true
	u.socket.Abort(cause)
}

// pause stops reading while the client takes no more of a large response. That time does not count against the server.
func (u *upstreamConn) pause() {
	u.paused = true
	u.socket.PauseReading()
	u.socket.StopTimer(responseTimer)
}

// resume reads on after pause. From now on the server has frame_timeout for the rest.
func (u *upstreamConn) resume() {
	if !u.paused {
		return
	}
	u.paused = false
	u.readAt, u.missedHeartbeats = u.pool.loop.Now(), 0
	u.socket.ResumeReading()
	u.socket.SetTimer(responseTimer, u.response.timeout)
}

func (u *upstreamConn) Drained(*loop.Conn) {
	u.unblockAll()
	if u.uploader != nil {
		u.uploader.resume()
	}
}

func (u *upstreamConn) HalfClosed(*loop.Conn) { u.abort(errServerClosed) }

var errServerClosed = errors.New("bolt: the server closed the connection")

func (u *upstreamConn) Shutdown(*loop.Conn) {
	u.closeWhenIdle = true
	u.closeIfDone()
}

func (u *upstreamConn) Timer(_ *loop.Conn, which int) {
	switch {
	case which == deadlineTimer:
		u.failExpired()
	case which == heartbeatTimer:
		u.checkLiveness()
	case which == stalledWriteTimer:
		u.checkWriteProgress()
	case u.response.left > 0:
		u.abort(fmt.Errorf("bolt: a response of %v has not ended in time: frame_timeout", u.pool.endpoint.Addr()))
	}
}

// Closed fails the requests that the connection holds. err is why it was closed.
func (u *upstreamConn) Closed(_ *loop.Conn, err error) {
	u.retiring = true
	u.pool.endpoint.Disconnect()
	u.pool.remove(u)
	u.unblockAll()
	why, notConnected := route.OnConnectFailure, err
	if u.connected {
		why, notConnected = route.OnReset, nil
	}
	if d := u.uploader; d != nil {
		u.uploader = nil
		d.uploadLost(why, notConnected)
	}
	u.failResponse(err)
	for _, r := range u.unsent {
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

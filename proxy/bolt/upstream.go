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
	deadlineTimer     = iota // bounds the time of the requests in flight
	heartbeatTimer           // checks that the server responds and that the connection is in use
	responseTimer            // bounds the time that a large response takes
	stalledWriteTimer        // bounds the time in which the server reads nothing
)

// upstreamConn is one connection to an endpoint. Requests of many clients share it.
//
//	connecting ──Opened──► connected ──retire, nothing in flight──► closed
//	connecting, connected ──abort, the server closes──► closed: requests fail
//
// In both states, retiring means that no new request is sent. While connected, paused means that reading is paused.
type upstreamConn struct {
	pool     *pool
	socket   *loop.Conn
	dialect  wire.Dialect
	unsent   []*request      // requests that wait until the connection is open
	sent     pendingRequests // requests that wait for a response
	response largeResponse   // large response that is being read

	uploadClient    *session   // client whose upload uses this connection or is about to
	blocked         []*session // clients that are paused until the server reads its queue
	queuedBefore    int        // queued bytes when stalledWriteTimer was set
	deferredControl []byte     // responses to the server's own frames, written after the upload
	controlBytes    int        // upper bound of the bytes of such responses that are queued or deferred

	nextDeadline     time.Duration // expiry of deadlineTimer on the loop's clock; 0 if the timer is not set
	usedAt           time.Duration // when a request was last sent
	readAt           time.Duration // when bytes were last read
	missedHeartbeats int

	connected     bool
	paused        bool // reading is paused because a client is slow
	closeWhenIdle bool
	retiring      bool // no further request is sent
}

var _ loop.Shutdowner = (*upstreamConn)(nil)

// load returns the number of requests without a response.
func (u *upstreamConn) load() int { return len(u.unsent) + u.sent.count }

func (u *upstreamConn) idle() bool {
	return u.load() == 0 && u.uploadClient == nil && u.response.bytesLeft == 0
}

// midUpload reports whether a large frame is partly sent. Nothing else may be written meanwhile.
func (u *upstreamConn) midUpload() bool { return u.uploadClient != nil && u.uploadClient.uploading() }

// send sends a request. f is the parsed frame, and frame is its bytes, which are lent. If the connection is not open
// yet, send keeps a copy.
func (u *upstreamConn) send(r *request, f wire.Frame, frame []byte) {
	r.upstream = u
	if u.connected {
		u.write(r, f, frame)
		return
	}
	if !r.exchange.Cluster.Wait() {
		r.upstream = nil
		r.exchange.EndAttempt(upstream.Canceled)
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
	if !r.replay.Empty() && !r.replayable {
		r.replay.Release()
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
		r.exchange.Cluster.Unwait()
		f, _, _ := wire.Next(r.replay.Bytes(), noLimits)
		u.write(r, f, r.replay.Bytes())
	}
	if u.uploadClient != nil {
		u.uploadClient.resume()
	}
	u.checkLiveness()
	u.closeIfDone()
}

// cancel abandons a request whose client has left. Its response will be discarded.
func (u *upstreamConn) cancel(r *request) {
	r.upstream = nil
	switch {
	case u.response.request == r:
		u.response.request = nil
		u.resume()
	case u.sent.find(r.sentID) == r:
		u.sent.remove(r)
	default:
		r.exchange.Cluster.Unwait()
		u.unsent = slices.DeleteFunc(u.unsent, func(other *request) bool { return other == r })
	}
	u.closeIfDone()
}

// closeIfDone retires a connection that is not needed any more.
func (u *upstreamConn) closeIfDone() {
	if u.closeWhenIdle || u.retiring || u.pool.retired {
		u.retire()
	}
}

// retire closes the connection when it becomes idle. No further request is sent.
func (u *upstreamConn) retire() {
	if u.idle() {
		u.retiring = true
		u.socket.Close()
	}
}

// abort closes the connection immediately. cause is the error that its requests fail with.
func (u *upstreamConn) abort(cause error) {
	u.retiring = true
	u.socket.Abort(cause)
}

// pause pauses reading, because the client of a large response is slow. The paused time does not count against the
// server.
func (u *upstreamConn) pause() {
	u.paused = true
	u.socket.PauseReading()
	u.socket.StopTimer(responseTimer)
}

// resume resumes reading after pause. The server then has frame_timeout for the rest of the response.
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
	if u.uploadClient != nil {
		u.uploadClient.resume()
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
	case u.response.bytesLeft > 0:
		u.abort(fmt.Errorf("bolt: a response of %v has not ended in time: frame_timeout", u.pool.endpoint.Addr()))
	}
}

// Closed fails the requests that the connection holds. err is the reason why it was closed.
func (u *upstreamConn) Closed(_ *loop.Conn, err error) {
	u.retiring = true
	u.pool.endpoint.Disconnect()
	u.pool.remove(u)
	u.unblockAll()
	why, notConnected := route.OnConnectFailure, err
	if u.connected {
		why, notConnected = route.OnReset, nil
	}
	if d := u.uploadClient; d != nil {
		u.uploadClient = nil
		d.uploadLost(why, notConnected)
	}
	u.failResponse(err)
	for _, r := range u.unsent {
		r.exchange.Cluster.Unwait()
		r.exchange.NotConnected(err)
		r.fail(why, false)
	}
	for _, r := range u.sent.slots {
		if r != nil {
			r.fail(why, true)
		}
	}
}

package bolt

import (
	"math"
	"time"

	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/route"
)

// largeResponse is a large frame that passes from an endpoint to a client in pieces. The zero value means that there is none.
type largeResponse struct {
	request *request // nil if the frame is discarded
	status  wire.Status
	left    int           // bytes of the frame to come
	timeout time.Duration // frame_timeout
	delta   uint32        // the change of the frame's CRC
}

// Data reads whole responses, and large ones in pieces.
func (u *upstreamConn) Data(_ *loop.Conn, p []byte) int {
	u.readAt, u.missedHeartbeats = u.pool.loop.Now(), 0
	at := 0
	for at < len(p) && !u.paused {
		n, err := u.readFrame(p[at:])
		if err != nil {
			u.abort(err)
			return len(p)
		}
		if n == 0 {
			break
		}
		at += n
	}
	u.closeIfDone()
	return at
}

// readFrame reads the frame that p begins with, or the next piece of a large one, and returns its length in p. It returns 0 if more
// bytes have to arrive.
func (u *upstreamConn) readFrame(p []byte) (int, error) {
	if u.response.left > 0 {
		return u.responseData(p), nil
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
		u.control(f)
	case u.sent.find(f.ID()) != nil:
		r := u.sent.find(f.ID())
		u.sent.remove(r)
		if size <= largeFrame {
			return size, u.respondWhole(r, f, p[:size])
		}
		return u.startResponse(r, f, p), nil
	case f.Command() != wire.CommandHeartbeat:
		u.pool.loopState.lateResponses.Add(1)
	}
	u.response.left = size // the frame is discarded
	return u.responseData(p), nil
}

// control handles a frame of the server's own. A heartbeat is acknowledged, GOAWAY retires the connection, and requests are refused.
func (u *upstreamConn) control(f wire.Frame) {
	status := wire.StatusNoProcessor
	switch f.Command() {
	case wire.CommandGoaway:
		u.retiring = true
		return
	case wire.CommandHeartbeat:
		status = wire.StatusSuccess
	}
	ls := u.pool.loopState
	ls.scratch = wire.AppendResponse(ls.scratch[:0], f, status)
	queued := u.socket.Queued() + len(u.deferredControl)
	if u.controlBytes = min(u.controlBytes, queued); u.controlBytes+len(ls.scratch) > maxControlBytes {
		return // the server does not read these responses
	}
	u.controlBytes += len(ls.scratch)
	if u.midUpload() {
		u.deferredControl = append(u.deferredControl, ls.scratch...)
	} else {
		u.socket.Write(ls.scratch)
	}
}

// respondWhole passes on a response that has arrived whole.
func (u *upstreamConn) respondWhole(r *request, f wire.Frame, frame []byte) error {
	r.upstream = nil
	if r.downstream.checksCRC() {
		if err := f.CheckCRC(); err != nil {
			u.retiring = true // a retry takes another connection
			r.fail(route.OnReset, true)
			return err
		}
	}
	status := f.Status()
	r.x.EndAttempt(responseOutcome(status))
	r.x.Out = int64(len(frame))
	f.SetID(r.clientID)
	r.downstream.respond(r, frame, status)
	return nil
}

// startResponse passes on the first piece of a large response.
func (u *upstreamConn) startResponse(r *request, f wire.Frame, p []byte) int {
	status := f.Status()
	r.x.EndAttempt(responseOutcome(status))
	r.x.Out = int64(f.FrameLen())
	timeout := r.downstream.frameTimeout()
	u.response = largeResponse{request: r, status: status, left: f.FrameLen(), timeout: timeout}
	r.downstream.startLarge(r)
	u.socket.SetTimer(responseTimer, timeout)
	delta := f.SetID(r.clientID) // corrects the part of the CRC that has arrived; responseData must not correct it again
	n := u.responseData(p)
	u.response.delta = delta
	return n
}

// responseData passes on or discards the next piece of a large response, which p begins with, and returns its length.
func (u *upstreamConn) responseData(p []byte) int {
	a := &u.response
	n := min(len(p), a.left)
	full := false
	if r := a.request; r != nil {
		wire.PatchCRC(p[:n], a.left, a.delta)
		full = r.downstream.largeData(r, p[:n])
	}
	if a.left -= n; a.left == 0 {
		u.endResponse()
	} else if full && u.onlyResponding() {
		u.pause()
	}
	return n
}

// onlyResponding reports whether no other request depends on this connection than those whose responses are read: pausing delays
// only their clients.
func (u *upstreamConn) onlyResponding() bool {
	return u.load() == 0 && u.uploader == nil && len(u.blocked) == 0
}

// endResponse ends a large response.
func (u *upstreamConn) endResponse() {
	r, status := u.response.request, u.response.status
	u.response = largeResponse{}
	u.socket.StopTimer(responseTimer)
	if r != nil {
		r.upstream = nil
		r.downstream.endLarge(r, status)
	}
}

// failResponse ends a large response in its middle, as the connection is closed.
func (u *upstreamConn) failResponse(err error) {
	r := u.response.request
	if r == nil {
		return
	}
	if err == nil {
		err = errServerClosed
	}
	u.response, r.upstream = largeResponse{}, nil
	r.downstream.failLarge(r, err)
}

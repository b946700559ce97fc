package bolt

import (
	"math"
	"time"

	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/route"
)

// largeResponse is a large frame that passes from an endpoint to a client in pieces. The zero value means that there
// is none.
type largeResponse struct {
	request   *request // nil if the frame is discarded
	status    wire.Status
	bytesLeft int           // bytes of the frame that have not arrived
	timeout   time.Duration // frame_timeout of the client's listener
	crcDelta  uint32        // correction of the frame's CRC for the client's id
}

// Data reads whole responses, and large responses in pieces.
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

// readFrame processes the frame at the start of p, or the next piece of a large frame. It returns the number of bytes
// processed, or 0 if more bytes have to arrive.
func (u *upstreamConn) readFrame(p []byte) (int, error) {
	if u.response.bytesLeft > 0 {
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
		u.handleControlFrame(f)
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
	u.response.bytesLeft = size // discard the frame
	return u.responseData(p), nil
}

// handleControlFrame handles a frame that is not a response. It acknowledges a heartbeat, retires the connection on GOAWAY, and
// refuses a request.
func (u *upstreamConn) handleControlFrame(f wire.Frame) {
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
		return // the server does not read its responses
	}
	u.controlBytes += len(ls.scratch)
	if u.midUpload() {
		u.deferredControl = append(u.deferredControl, ls.scratch...)
	} else {
		u.socket.Write(ls.scratch)
	}
}

// respondWhole passes on a response that is completely in frame.
func (u *upstreamConn) respondWhole(r *request, f wire.Frame, frame []byte) error {
	r.upstream = nil
	if r.downstream.checksCRC() {
		if err := f.CheckCRC(); err != nil {
			u.retiring = true // so that a retry uses another connection
			r.fail(route.OnReset, true)
			return err
		}
	}
	status := f.Status()
	r.endAttempt(status)
	r.exchange.Out = int64(len(frame))
	f.SetID(r.clientID)
	r.downstream.respond(r, frame, status)
	return nil
}

// startResponse passes on the first piece of a large response.
func (u *upstreamConn) startResponse(r *request, f wire.Frame, p []byte) int {
	status := f.Status()
	r.endAttempt(status)
	r.exchange.Out = int64(f.FrameLen())
	timeout := r.downstream.frameTimeout()
	u.response = largeResponse{request: r, status: status, bytesLeft: f.FrameLen(), timeout: timeout}
	r.downstream.startLarge(r)
	u.socket.SetTimer(responseTimer, timeout)
	delta := f.SetID(r.clientID) // corrects the CRC bytes already in p; responseData must not correct them again
	n := u.responseData(p)
	u.response.crcDelta = delta
	return n
}

// responseData passes on or discards the next piece of a large response. p begins with the piece. The result is the
// length of the piece.
func (u *upstreamConn) responseData(p []byte) int {
	a := &u.response
	n := min(len(p), a.bytesLeft)
	full := false
	if r := a.request; r != nil {
		wire.PatchCRC(p[:n], a.bytesLeft, a.crcDelta)
		full = r.downstream.largeData(r, p[:n])
	}
	if a.bytesLeft -= n; a.bytesLeft == 0 {
		u.endResponse()
	} else if full && u.onlyResponding() {
		u.pause()
	}
	return n
}

// onlyResponding reports whether no request depends on this connection except the one whose large response is
// being read. Then a pause delays only the client of that response.
func (u *upstreamConn) onlyResponding() bool {
	return u.load() == 0 && u.uploadClient == nil && len(u.blocked) == 0
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

// failResponse ends a large response that is incomplete, because the connection is closed.
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

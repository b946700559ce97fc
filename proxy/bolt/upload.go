package bolt

import (
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// upload is a large frame that passes from the client to an upstream connection in pieces. The connection carries nothing else until
// the response, so a slow client delays no other.
//
//	none ──forwardLarge──► pending ──startUpload──► left > 0 ──last piece──► none
//	                          └──the request ends: the frame is discarded──► left > 0, conn nil ──last piece──► none
type upload struct {
	pending *request     // its first piece waits in the client's connection until conn takes it
	conn    upstreamSide // nil with left above 0: the frame is discarded
	left    int          // bytes of the frame to come
	delta   uint32       // the change of the frame's CRC
	sentID  uint32       // the id it is sent with
}

// blocked reports whether the upstream takes nothing for now.
func (up *upload) blocked() bool { return up.conn != nil && up.conn.uploadBlocked() }

// requestEnded is called when r ends. If its upload is pending, the frame is discarded.
func (up *upload) requestEnded(r *request) {
	if up.pending == r {
		up.release()
		up.pending, up.left = nil, r.frame().FrameLen()
	}
}

// release gives the connection back.
func (up *upload) release() {
	if u := up.conn; u != nil {
		up.conn = nil
		u.releaseUpload()
	}
}

// abort ends the upload within its frame. The server cannot tell where another frame would begin, so its connection ends, too. It
// returns the request, nil if there is none to respond to.
func (up *upload) abort(cause error) (r *request) {
	if up.conn != nil && up.pending == nil {
		r = up.conn.abortUpload(up.sentID, cause)
	}
	up.release()
	return r
}

// forwardLarge forwards a frame in pieces. p begins with the frame. It returns how many bytes of p it has read.
func (s *session) forwardLarge(st *settings, f wire.Frame, p []byte) (int, error) {
	if s.upload.pending == nil {
		look := f.HeadLen()
		if st.needs.payload {
			look += min(route.MaxPayload, f.ContentLen())
		}
		if len(p) < look {
			return 0, nil
		}
		r := s.newRequest(st, f, p)
		r.large, s.upload.pending = true, r
		found, err := s.loopState.route(st, f)
		if s.admit(st, r, f, found, err) {
			s.connectUpload(r)
		}
	}
	switch {
	case s.upload.pending == nil:
		return s.uploadData(p), nil // the request was refused, and its frame is discarded
	case s.upload.blocked():
		return 0, nil
	}
	return s.startUpload(f, p), nil
}

// connectUpload chooses a connection for a large request.
func (s *session) connectUpload(r *request) {
	r.receivedAt = s.loopState.loop.Now()
	pool := r.choosePool()
	if pool == nil {
		return
	}
	u := pool.uploadConn(r.frame().Dialect(), s)
	if u == nil {
		r.x.EndAttempt(upstream.Canceled)
		r.refuseOverload()
		return
	}
	s.upload.conn = u
}

// startUpload sends the first piece.
func (s *session) startUpload(f wire.Frame, p []byte) int {
	up := &s.upload
	r := up.pending
	s.midFrame = false // so that the frame timer starts again
	up.pending, up.left = nil, f.FrameLen()
	up.sentID = up.conn.startUpload(r)
	if r.oneway {
		s.endRequest(r, wire.StatusSuccess)
	}
	// SetID corrects the part of the CRC that has arrived; uploadData must not correct it again.
	delta := f.SetID(up.sentID)
	up.delta = 0
	n := s.uploadData(p)
	up.delta = delta
	return n
}

// uploadData sends or discards the next piece of a large frame, which p begins with, and returns its length.
func (s *session) uploadData(p []byte) int {
	up := &s.upload
	n := min(len(p), up.left)
	if up.conn != nil {
		wire.PatchCRC(p[:n], up.left, up.delta)
		up.conn.uploadData(p[:n])
	}
	if up.left -= n; up.left == 0 {
		if up.conn != nil {
			up.conn.endUpload(up.sentID)
		}
		s.upload = upload{}
	}
	return n
}

func (s *session) uploading() bool { return s.upload.pending == nil }

func (s *session) uploadPending(r *request) bool { return s.upload.pending == r }

// uploadLost is called when the connection of the upload is closed.
func (s *session) uploadLost(why route.Cause, notConnected error) {
	s.upload.conn = nil
	if r := s.upload.pending; r != nil {
		if notConnected != nil {
			r.x.NotConnected(notConnected)
		}
		r.fail(why, false)
	}
	s.update()
}

package bolt

import (
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// upload is a large frame that passes from the client to an upstream connection in pieces. The connection carries
// nothing else until the response has arrived, so a slow client delays no other client.
//
//	none ──forwardLarge──► pending ──startUpload──► bytesLeft > 0 ──last piece──► none
//	                          └──the request ends: the frame is discarded──► bytesLeft > 0, conn nil ──last piece──► none
type upload struct {
	pending   *request     // request whose first piece is still unread, until conn can accept it
	conn      upstreamSide // nil while bytesLeft is above 0: the frame is discarded
	bytesLeft int          // bytes of the frame that have not arrived
	crcDelta  uint32       // correction of the frame's CRC for the new id
	sentID    uint32       // id of the frame on conn
}

// blocked reports whether the upstream connection cannot accept bytes now.
func (up *upload) blocked() bool { return up.conn != nil && up.conn.uploadBlocked() }

// requestEnded is called when r ends. If the upload of r has not started, its frame is discarded.
func (up *upload) requestEnded(r *request) {
	if up.pending == r {
		up.release()
		up.pending, up.bytesLeft = nil, r.frame().FrameLen()
	}
}

// release returns the connection to the pool.
func (up *upload) release() {
	if u := up.conn; u != nil {
		up.conn = nil
		u.releaseUpload()
	}
}

// abort ends the upload before its frame is complete. The server cannot tell where another frame would begin, so the
// server's connection is closed too. abort returns the request, or nil if there is none to respond to.
func (up *upload) abort(cause error) (r *request) {
	if up.conn != nil && up.pending == nil {
		r = up.conn.abortUpload(up.sentID, cause)
	}
	up.release()
	return r
}

// forwardLarge forwards a frame in pieces. p begins with the frame. It returns the number of bytes of p that were
// processed.
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
		found, err := s.loopState.findRoute(st, f, r.exchange.TLS)
		if s.admit(st, r, f, found, err) {
			s.connectUpload(r)
		}
	}
	switch {
	case s.upload.pending == nil:
		return s.uploadData(p), nil // the request was refused: discard its frame
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
		r.exchange.EndAttempt(upstream.Canceled)
		r.refuseOverload()
		return
	}
	s.upload.conn = u
}

// startUpload sends the first piece of a large request.
func (s *session) startUpload(f wire.Frame, p []byte) int {
	up := &s.upload
	r := up.pending
	s.midFrame = false // makes the frame timer start again
	up.pending, up.bytesLeft = nil, f.FrameLen()
	up.sentID = up.conn.startUpload(r)
	if r.oneway {
		s.endRequest(r, wire.StatusSuccess)
	}
	// SetID corrects the CRC bytes that are already in p. uploadData must not correct them again.
	delta := f.SetID(up.sentID)
	up.crcDelta = 0
	n := s.uploadData(p)
	up.crcDelta = delta
	return n
}

// uploadData sends or discards the next piece of a large frame. p begins with the piece. The result is the length of
// the piece.
func (s *session) uploadData(p []byte) int {
	up := &s.upload
	n := min(len(p), up.bytesLeft)
	if up.conn != nil {
		wire.PatchCRC(p[:n], up.bytesLeft, up.crcDelta)
		up.conn.uploadData(p[:n])
	}
	if up.bytesLeft -= n; up.bytesLeft == 0 {
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
			r.exchange.NotConnected(notConnected)
		}
		r.fail(why, false)
	}
	s.update()
}

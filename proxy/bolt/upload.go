package bolt

import (
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"

	wire "example.com/ferry/protocol/bolt"
)

// upload is a large frame that passes from the client to an upstream connection in pieces. The connection carries
// nothing else until the response has arrived, so a slow client delays no other client.
//
//	none ──forwardLarge──► pending ──startUpload──► bytesLeft > 0 ──last piece──► none
//	                          └──the request ends: the frame is discarded──► bytesLeft > 0, conn nil ──last piece──► none
type upload struct {
	pending   *request      // request whose first piece is still unread, until conn can accept it
	conn      *upstreamConn // nil while bytesLeft is above 0: the frame is discarded
	bytesLeft int           // bytes of the frame that have not arrived
	crcDelta  uint32        // correction of the frame's CRC for the new id
	sentID    uint32        // id of the frame on conn
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

// uploading reports whether the first piece of an upload has been sent.
func (s *session) uploading() bool { return s.upload.pending == nil }

// uploadPending reports whether r is a large request whose first piece has not been sent.
func (s *session) uploadPending(r *request) bool { return s.upload.pending == r }

// uploadLost is called when the connection of the upload is closed. notConnected is the reason if it was never open, else nil.
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

// uploadConn returns a connection with nothing in flight for a large frame of d, or nil if there can be none. If a
// client leaves before its frame is complete, the connection must be closed. So no other request may wait for a
// response on it.
func (p *pool) uploadConn(dialect wire.Dialect, d *session) *upstreamConn {
	u := p.exclusiveConn(dialect, d.closing())
	if u != nil {
		u.uploadClient = d
	}
	return u
}

// uploadBlocked reports whether the connection cannot accept bytes of an upload now. It calls session.resume later.
func (u *upstreamConn) uploadBlocked() bool { return !u.connected || u.socket.Full() }

// startUpload assigns a large request the id of its frame on this connection.
func (u *upstreamConn) startUpload(r *request) (id uint32) {
	if r.oneway {
		return u.sent.nextID()
	}
	r.upstream = u
	return u.sent.add(r)
}

func (u *upstreamConn) uploadData(p []byte) {
	u.socket.Write(p)
	u.usedAt = u.pool.loop.Now()
}

// endUpload is called after the last byte of an upload. The response timeout starts.
func (u *upstreamConn) endUpload(id uint32) {
	if r := u.sent.find(id); r != nil {
		r.receivedAt = u.pool.loop.Now()
		r.setDeadline(r.receivedAt)
		u.watchDeadline(r.deadline)
	}
	u.releaseUpload()
}

// abortUpload aborts the connection before the upload is complete. It returns the request, or nil if that has already ended. The attempt counts as
// canceled, not as a failure of the endpoint.
func (u *upstreamConn) abortUpload(id uint32, cause error) *request {
	r := u.sent.find(id)
	if r != nil {
		u.cancel(r)
		r.exchange.EndAttempt(upstream.Canceled)
	}
	u.abort(cause)
	return r
}

// releaseUpload makes the connection available to other requests. The upload has ended or has not started.
func (u *upstreamConn) releaseUpload() {
	u.uploadClient = nil
	if len(u.deferredControl) > 0 {
		u.socket.Write(u.deferredControl)
		u.deferredControl = nil
	}
	u.closeIfDone()
}

package bolt

import (
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// upload is a large frame on its way from a client to a server. The connection it goes over is its own until its last byte, so
// a slow sender delays nobody else.
type upload struct {
	waits *request      // nothing of it is taken until conn is open
	conn  *upstreamConn // with left above 0 and no conn the rest goes nowhere
	left  int           // bytes not taken yet
	delta uint32        // by which the CRC changes
	id    uint32        // what the request was sent as
}

// blocked reports whether the client has to wait.
func (up *upload) blocked() bool {
	return up.conn != nil && (!up.conn.open || up.conn.socket.Full())
}

// forget is called when r ends. If nothing of it was taken, all of it goes nowhere.
func (up *upload) forget(r *request) {
	if up.waits == r {
		up.leave()
		up.waits, up.left = nil, r.frame().FrameLen()
	}
}

// leave lets go of the connection.
func (up *upload) leave() {
	if u := up.conn; u != nil {
		up.conn = nil
		u.uploaded()
	}
}

// abort ends the upload in its middle. The server cannot tell where another frame would begin, so its connection ends too. The
// attempt counts as canceled, not as the server's failure. It returns the request, nil if there is none to be answered.
func (up *upload) abort(cause error) *request {
	u := up.conn
	if u == nil {
		return nil
	}
	var r *request
	if up.waits == nil {
		if r = u.sent.find(up.id); r != nil {
			u.drop(r)
			r.x.Answered(upstream.Canceled)
		}
		u.abort(cause)
	}
	up.leave()
	return r
}

// large forwards a frame that passes in pieces. p begins with it.
func (s *session) large(st *setup, f wire.Frame, p []byte) (int, error) {
	if s.upload.waits == nil {
		look := f.HeadLen()
		if st.ask.payload {
			look += min(route.MaxPayload, f.ContentLen())
		}
		if len(p) < look {
			return 0, nil
		}
		r := s.begin(st, f, p)
		r.streams, s.upload.waits = true, r
		found, err := s.worker.route(st, f)
		if s.admit(st, r, f, found, err) {
			s.place(r)
		}
	}
	switch {
	case s.upload.waits == nil:
		return s.piece(p), nil // it was refused
	case s.upload.blocked():
		return 0, nil
	}
	return s.start(f, p), nil
}

// place chooses a connection for a large request.
func (s *session) place(r *request) {
	r.began = s.worker.loop.Now()
	pool := r.choose()
	if pool == nil {
		return
	}
	u := pool.exclusive(r.frame().Dialect(), s.leaving != staying)
	if u == nil {
		r.x.Answered(upstream.Canceled)
		r.refuse(traffic.Overload)
		return
	}
	u.uploader, s.upload.conn = s, u
}

// start sends the first piece.
func (s *session) start(f wire.Frame, p []byte) int {
	r, u := s.upload.waits, s.upload.conn
	s.partial = false // it has a time of its own
	s.upload.waits, s.upload.left = nil, f.FrameLen()
	if r.oneway {
		s.upload.id = u.sent.id()
		s.end(r, traffic.Bolt(wire.StatusSuccess), 0)
	} else {
		s.upload.id = u.sent.add(r)
		r.conn = u
	}
	// SetID puts the CRC right as far as it is there, so that is not to be done again.
	delta := f.SetID(s.upload.id)
	s.upload.delta = 0
	n := s.piece(p)
	s.upload.delta = delta
	return n
}

// piece passes on the next bytes of a large frame.
func (s *session) piece(p []byte) int {
	up := &s.upload
	n := min(len(p), up.left)
	if u := up.conn; u != nil {
		wire.PatchCRC(p[:n], up.left, up.delta)
		u.socket.Write(p[:n])
		u.used = s.worker.loop.Now()
	}
	if up.left -= n; up.left == 0 {
		s.sent()
	}
	return n
}

// sent is the end of an upload: from now on the server has the time that the route gives it.
func (s *session) sent() {
	u := s.upload.conn
	if u != nil {
		if r := u.sent.find(s.upload.id); r != nil {
			r.began = s.worker.loop.Now()
			r.attempt(r.began)
			u.due(r.deadline)
		}
	}
	s.upload.leave()
	s.upload = upload{}
}

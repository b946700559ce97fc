package exchange

import "example.com/ferry/loop"

// A body passes from connection to connection without being read if neither side needs its bytes: both sides speak the same protocol
// in cleartext, the length of the body is known, and no copy is kept for a retry. The side that receives the body asks for the connection,
// and tells the Relay how many bytes the loop has passed on.

// ResponseConn returns the connection that bytes of the response's framed body may be passed on to, or nil.
func (r *Relay) ResponseConn() *loop.Conn {
	if s, ok := r.down.(ResponseSink); ok {
		return s.ResponseConn()
	}
	return nil
}

// ResponseSpliced is ResponseData for n bytes that were passed on to ResponseConn.
func (r *Relay) ResponseSpliced(n int) (pause bool) {
	r.down.(ResponseSink).ResponseSpliced(n)
	return r.responseMoved()
}

// RequestConn returns the connection that bytes of the request's framed body may be passed on to, or nil.
func (r *Relay) RequestConn() *loop.Conn {
	if !r.Ready() || r.Replay.Whole {
		return nil
	}
	if s, ok := r.up.(RequestSink); ok {
		return s.RequestConn()
	}
	return nil
}

// RequestSpliced is RequestData for n bytes that were passed on to RequestConn.
func (r *Relay) RequestSpliced(n int) (pause bool) {
	r.up.(RequestSink).RequestSpliced(n)
	return r.requestMoved()
}

package http2

import wire "example.com/ferry/protocol/http2"

// clientStreams is a clientConn as the protocol sees it: it gets what arrives on the streams.
type clientStreams clientConn

var _ wire.Handler = (*clientStreams)(nil)

// Headers begins a request, or ends one with its trailers.
func (cs *clientStreams) Headers(s *wire.Stream, h *wire.Head, end bool) {
	cc := (*clientConn)(cs)
	cc.headEnded = true
	if h.Trailers {
		if d := sideOf(s); d != nil {
			d.receiveTrailers(h)
		}
		return
	}
	cc.conn.StopTimer(idleTimer)
	cc.unsent = 0
	cc.requests++
	cc.loopState.downstream(cc, s).begin(h, end)
	now := cc.settings()
	if limit := now.MaxRequests; limit > 0 && cc.requests >= limit || now.plan.Overload.EndsKeepAlive() {
		cc.Shutdown(cc.conn)
	}
}

// Data passes a piece of a body to the request of s.
func (cs *clientStreams) Data(s *wire.Stream, p []byte, end bool) {
	if d := sideOf(s); d != nil {
		d.receiveData(p, end)
	}
}

// Reset ends the request of s.
func (cs *clientStreams) Reset(s *wire.Stream, why wire.StreamError) {
	if d := sideOf(s); d != nil {
		d.streamReset(why)
	}
}

// Writable resumes the response of s.
func (cs *clientStreams) Writable(s *wire.Stream) {
	if d := sideOf(s); d != nil {
		d.relay.DownstreamDrained()
	}
}

// Sent says that the end of the response of s, which had to wait, has left.
func (cs *clientStreams) Sent(s *wire.Stream) {
	if d := sideOf(s); d != nil && d.state == flushing {
		d.responseSent()
	}
}

// GoAway does nothing: a client that goes away still expects the responses to its requests.
func (cs *clientStreams) GoAway(uint32, wire.Code) {}

// sideOf returns the downstreamSide of s, or nil if the request of s has ended.
func sideOf(s *wire.Stream) *downstreamSide {
	d, _ := s.User.(*downstreamSide)
	return d
}

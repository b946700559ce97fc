package http2

import (
	"time"

	wire "example.com/ferry/protocol/http2"
)

// discardTime is how long the rest of a request is read after its response. An honest client then knows the response and
// has ended its request.
const discardTime = time.Second

// responseOver counts the request. Its side stays until the client's windows have let the whole response leave: until then
// the stream counts as open, and a client that does not read is timed.
func (d *downstreamSide) responseOver() {
	d.ended = true
	d.relay.Finish(d.status)
	d.pending.Release()
	if !d.relay.RequestEnded() {
		d.relay.RequestEnd(nil) // the rest of the request is discarded, so its rate does not matter
	}
	if d.stream.Queued() > 0 {
		d.enter(flushing)
		d.relay.Moved()
		return
	}
	d.responseSent()
}

// responseSent is called when the response has left. If the request is incomplete, its rest is discarded.
func (d *downstreamSide) responseSent() {
	if d.stream.PeerEnded() {
		d.release()
		return
	}
	d.enter(discarding)
	if d.discardTimer == nil {
		d.discardTimer = d.client.conn.Loop().NewTimer(d.release)
	}
	d.discardTimer.Set(discardTime)
	d.discard(0)
}

// discard discards n bytes of the request. The stream's window stays closed for them. Before a client of a long request
// has to wait for the window, it is told to stop with RST_STREAM and NO_ERROR (RFC 9113, section 8.1).
func (d *downstreamSide) discard(n int) {
	d.withheld += n
	if d.state == discarding && (d.whole || d.withheld >= d.client.streamWindow/2) {
		d.release()
	}
}

// Reset ends a stream whose response cannot be completed, or whose client does not read the rest of its response.
func (d *downstreamSide) Reset() {
	if d.hasResponse() {
		d.stream.Reset(wire.Cancel)
		d.release()
		return
	}
	code := wire.InternalError
	if d.relay.Canceled() {
		code = wire.Cancel
	}
	d.relay.Abandon()
	d.relay.Finish(d.status)
	d.stream.Reset(code)
	d.release()
}

// hasResponse reports whether the request has been counted with its whole response.
func (d *downstreamSide) hasResponse() bool { return d.state == flushing || d.state == discarding }

package http2

import (
	"slices"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/traffic"

	wire "example.com/ferry/protocol/http2"
)

// downstreamSide is the client's side of a request: one stream of a clientConn. A loopState reuses it for other requests.
type downstreamSide struct {
	loopState *loopState
	settings  *settings
	client    *clientConn
	stream    *wire.Stream
	relay     exchange.Relay
	state     downstreamState

	// The request.
	head     requestHead // head of the request while it is processed, afterwards a view of the copy in Replay; nil if there is none
	kept     wire.Head   // the view of the copy
	headOnly bool        // the method is HEAD: the response has no body
	tunnel   bool        // the request asks for a tunnel (RFC 8441)
	bodyRead int64       // bytes of the body received so far
	withheld int         // received bytes for which the stream's window is not given back

	discardTimer *loop.Timer // nil until it is needed

	// Received and not yet passed on, because the route is not found or the request waits for a connection.
	pending  exchange.HeldBytes // bytes of the body
	whole    bool               // the client has ended the request
	trailers *keptFields        // nil if the request has none
	lent     trailerFields      // trailers of the call that ends the request

	// The response.
	status int  // status of the response; 0 before the response's head is written
	ended  bool // END_STREAM is written

	interimHeld bool // interim responses wait until the queue of the connection has drained
}

var _ exchange.Downstream = (*downstreamSide)(nil)

// ClientAddr returns the client's address without a port, or an empty string if there is none.
func (d *downstreamSide) ClientAddr() string { return d.client.addr }

// RequestHead returns the request's head, or nil if it is neither valid any more nor copied.
func (d *downstreamSide) RequestHead() exchange.RequestHead {
	if d.useKeptHead(); d.head.Head == nil {
		return nil
	}
	return &d.head
}

// streamReset ends the request: the client has reset the stream, the stream violated the protocol, or the connection is
// gone.
func (d *downstreamSide) streamReset(why wire.StreamError) {
	d.relay.Abandon()
	if !d.hasResponse() {
		if !why.Remote && why.Code == wire.ProtocolError {
			d.relay.Refuse(traffic.BadRequest)
		}
		d.relay.Finish(0)
	}
	d.release()
}

// keepHead copies the head, so that it can be used after the protocol's call has returned.
func (d *downstreamSide) keepHead() {
	if len(d.relay.Replay.Head()) > 0 {
		return
	}
	d.loopState.scratch = d.head.AppendTo(d.loopState.scratch[:0])
	d.relay.Replay.KeepHead(d.loopState.scratch)
}

// useKeptHead makes head a view of the copy, if there is a copy.
func (d *downstreamSide) useKeptHead() {
	if copied := d.relay.Replay.Head(); len(copied) > 0 {
		_ = d.kept.View(copied) // no error is possible: AppendTo has made the copy
		d.head.Head = &d.kept
	}
}

// release returns the side to its loopState, and ends the proxy's use of the stream. If the client has not ended the
// request, the protocol resets the stream once the response is sent.
func (d *downstreamSide) release() {
	d.pending.Release()
	if d.discardTimer != nil {
		d.discardTimer.Stop()
	}
	d.relay.Release()
	s, cc := d.stream, d.client
	cc.dropHeld(d)
	if d.tunnel {
		cc.tunnels = slices.DeleteFunc(cc.tunnels, func(each *downstreamSide) bool { return each == d })
	}
	s.User = nil
	s.Release()
	d.settings, d.client, d.stream = nil, nil, nil
	d.head, d.headOnly, d.tunnel, d.bodyRead, d.withheld = requestHead{}, false, false, 0, 0
	d.whole, d.trailers = false, nil
	d.status, d.ended = 0, false
	d.enter(inactive)
	d.loopState.free.Put(d, maxFreeDownstreams)
	cc.streamsChanged()
}

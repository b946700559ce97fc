package http2

import (
	"example.com/ferry/protocol/httprule"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"

	wire "example.com/ferry/protocol/http2"
)

// begin processes the head of the request. h is valid until begin returns. end means that no body follows.
func (d *downstreamSide) begin(h *wire.Head, end bool) {
	d.enter(matching)
	d.head, d.whole = requestHead{h}, end
	d.headOnly = string(h.Method) == "HEAD"
	d.relay.In = headSize(h)
	d.relay.GRPC = exchange.IsGRPC(&d.head)
	status := d.judge()
	d.relay.SetChanges(&d.settings.HTTPConfig, d.tunnel)
	switch {
	case status != 0:
		d.relay.Refuse(traffic.BadRequest)
		d.respondStatus(status)
	case d.match() == exchange.Undecided:
		d.awaitPayload()
	}
	if d.head.Head == h {
		d.head.Head = nil // h is no longer valid
	}
}

// headSize returns the bytes of h that the metrics count: methods, paths, names and values, before compression.
func headSize(h *wire.Head) int64 {
	n := len(h.Method) + len(h.Scheme) + len(h.Authority) + len(h.Path)
	for i := range h.Len() {
		name, value := h.Field(i)
		n += len(name) + len(value)
	}
	return int64(n)
}

// judge returns the status of the response to a head that cannot be forwarded, or 0.
func (d *downstreamSide) judge() int {
	switch limit := int64(d.settings.MaxBody); {
	case limit > 0 && d.head.ContentLength() > limit:
		return 413
	case string(d.head.Head.Method) != "CONNECT":
		if d.head.Get("sec-websocket-key") != nil && d.head.repeats("sec-websocket-key") {
			return 400 // RFC 6455, section 11.3.1
		}
		return 0
	case !d.settings.MayUpgrade(d.head.UpgradeTo()):
		return 501 // RFC 9220, section 3, and RFC 9110, section 9.3.6
	case d.whole:
		return 400 // a tunnel whose client has ended its side
	}
	d.tunnel = true
	d.client.tunnels = append(d.client.tunnels, d)
	return 0
}

// match searches the route of the request, and forwards it or responds.
func (d *downstreamSide) match() exchange.Outcome {
	up, outcome := d.relay.Forward(&d.head, d.whole || d.tunnel)
	if outcome == exchange.Undecided {
		up, outcome = d.relay.ForwardPayload(d.pending.Bytes(), d.whole)
	}
	switch outcome {
	case exchange.Undecided:
		d.keepHead()
	case exchange.Refused:
		d.relay.Respond()
	case exchange.Forwarded:
		d.forward(up)
	}
	return outcome
}

// awaitPayload waits for bytes of the body, which the route depends on.
func (d *downstreamSide) awaitPayload() {
	d.relay.WatchBody()
	if d.head.ExpectsContinue() {
		d.relay.Changes.NoExpect = true
		e := d.stream.BeginHeaders()
		e.Status(100)
		e.End(false)
	}
}

// forward sends the request to up, which is nil if the request waits for a connection.
func (d *downstreamSide) forward(up exchange.Upstream) {
	d.enter(sendingBody)
	if up != nil {
		d.SendRequest(up)
	}
	d.keepHead()
	if up != nil && !d.pending.Empty() && !d.passPending() {
		d.giveBack()
	}
	switch {
	case d.state != sendingBody: // passPending has ended the request
	case d.whole && d.pending.Empty():
		d.requestWhole(d.trailers.fields())
	case !d.tunnel:
		d.relay.WatchBody()
	}
}

// SendRequest sends the request to up from its first byte.
func (d *downstreamSide) SendRequest(up exchange.Upstream) {
	d.useKeptHead()
	up.Request(&d.head, d.whole && !d.tunnel && d.pending.Empty() && d.bodyRead == 0 && d.trailers == nil)
	if kept := d.relay.Replay.Body(); len(kept) > 0 {
		up.RequestData(kept, d.relay.RequestEnded() && d.trailers == nil)
	}
	if d.relay.RequestEnded() {
		up.RequestEnd(d.trailers.fields())
	}
}

// receiveData processes a piece of the body.
func (d *downstreamSide) receiveData(p []byte, end bool) {
	d.bodyRead += int64(len(p))
	d.relay.In += int64(len(p))
	d.whole = d.whole || end
	if limit := int64(d.settings.MaxBody); limit > 0 && d.bodyRead > limit && !d.tunnel && !d.hasResponse() {
		d.refuseRest(413)
		return
	}
	switch d.state {
	case matching:
		d.hold(p)
		if len(d.pending.Bytes()) < route.MaxPayload {
			d.stream.Consumed(len(p))
		} else {
			d.withheld += len(p)
		}
		d.useKeptHead()
		if d.match() == exchange.Undecided {
			d.relay.Moved()
		}
	case sendingBody:
		d.passBody(p)
	default:
		d.discard(len(p))
	}
}

// hold adds p to the bytes that wait. The stream's window bounds them.
func (d *downstreamSide) hold(p []byte) { d.pending.Append(d.client.conn.Loop(), p) }

// passBody forwards a piece of the body, or holds it while the request has no connection or no tunnel.
func (d *downstreamSide) passBody(p []byte) {
	awaited := d.tunnel && d.status == 0
	switch {
	case !d.relay.Ready() || !d.pending.Empty() || awaited:
		d.hold(p)
		d.withheld += len(p)
		if !d.pending.Empty() || awaited {
			return
		}
	case len(p) > 0:
		pause := d.relay.RequestData(p, d.whole && d.trailers == nil)
		d.relay.Replay.KeepBody(p)
		if d.withheld += len(p); !pause {
			d.giveBack()
		}
	}
	if d.whole {
		d.requestWhole(d.trailers.fields())
	}
}

// passPending forwards the bytes that waited for the route or for a connection.
func (d *downstreamSide) passPending() (pause bool) {
	held := d.pending
	d.pending = exchange.HeldBytes{}
	pause = d.relay.RequestData(held.Bytes(), d.whole && d.trailers == nil)
	d.relay.Replay.KeepBody(held.Bytes())
	held.Release()
	if d.whole {
		d.requestWhole(d.trailers.fields())
	}
	return pause
}

// tunnelOpened forwards what the client has sent before the server accepted the tunnel.
func (d *downstreamSide) tunnelOpened() {
	switch {
	case !d.pending.Empty():
		if !d.passPending() && d.state == sendingBody {
			d.giveBack()
		}
	case d.whole:
		d.requestWhole(nil)
	}
}

// giveBack opens the stream's window for as many bytes as were passed on.
func (d *downstreamSide) giveBack() {
	d.stream.Consumed(d.withheld)
	d.withheld = 0
}

// receiveTrailers ends the request.
func (d *downstreamSide) receiveTrailers(h *wire.Head) {
	d.whole = true
	if d.state == matching || d.state == sendingBody {
		switch {
		case !mayBeTrailers(h):
			d.refuseRest(400)
			return
		case int(headSize(h))+fieldOverhead*h.Len() > anyHead: // as a server would end its connection, with the requests of others
			d.refuseRest(431)
			return
		}
	}
	switch d.state {
	case matching:
		d.trailers = keepFields(h)
		d.useKeptHead()
		d.match()
	case sendingBody:
		if !d.pending.Empty() || d.relay.Replay.Whole {
			d.trailers = keepFields(h)
		}
		if d.pending.Empty() {
			d.lent = trailerFields{h}
			d.requestWhole(&d.lent)
			d.lent = trailerFields{}
		}
	default:
		d.discard(0)
	}
}

// requestWhole ends the request. The response timeout starts.
func (d *downstreamSide) requestWhole(trailers exchange.Fields) {
	d.enter(awaitingResponse)
	d.relay.RequestEnd(trailers)
}

// ResumeRequest ends a pause of the body: the client may send as many bytes as were passed on.
func (d *downstreamSide) ResumeRequest() {
	switch {
	case d.tunnel && d.status == 0: // tunnelOpened follows
	case !d.pending.Empty() && d.passPending() || d.state != sendingBody:
	default:
		d.giveBack()
	}
}

// BodyRead returns the number of body bytes that were received from the client.
func (d *downstreamSide) BodyRead() int64 { return d.bodyRead }

// fieldOverhead is what a field counts for beside its bytes. RFC 9113, section 6.5.2.
const fieldOverhead = 32

// mayBeTrailers reports whether trailers may have all fields of h.
func mayBeTrailers(h *wire.Head) bool {
	for i := range h.Len() {
		if name, _ := h.Field(i); !httprule.InTrailers(name) {
			return false
		}
	}
	return true
}

// refuseRest ends a request whose body is larger than MaxBody, or whose trailers have a field that they may not have.
func (d *downstreamSide) refuseRest(status int) {
	d.relay.Abandon()
	d.relay.Refuse(traffic.BadRequest)
	if d.status != 0 {
		d.Reset()
		return
	}
	d.respondStatus(status)
}

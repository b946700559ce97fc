package http1

import (
	"errors"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"

	wire "example.com/ferry/protocol/http1"
)

// maxDiscard is how much of a request's body is discarded behind its response, in bytes, to keep the connection.
const maxDiscard = 256 << 10

// readHead takes the head of a request, and what it can of the bytes behind it.
func (d *downstreamSide) readHead(p []byte) int {
	n, err := wire.ParseRequest(p, &d.head, &d.settings.Limits)
	switch {
	case err != nil:
		d.malformed(err)
		return len(p)
	case n == 0:
		if !d.headTimed {
			d.headTimed = true
			setTimer(d.client, idleTimer, d.settings.HeaderTimeout)
		}
		return 0
	}
	if d.headTimed {
		d.client.StopTimer(idleTimer)
	}
	d.headSize = n
	d.requestHead = requestHead{&d.head, p[:n]}
	d.relay.In = int64(n)
	d.body = d.head.Body(&d.settings.Limits)
	if d.settings.plan.Log != nil {
		d.relay.Replay.KeepHead(p[:n])
	}
	if d.head.Method == wire.MethodConnect {
		d.relay.Refuse(traffic.BadRequest)
		d.closing = true // the client may take its own bytes for those of a tunnel
		d.respondStatus(501)
		return n + d.takeRest(p[n:])
	}
	return d.match(p)
}

// match finds the route of the request that p begins with.
func (d *downstreamSide) match(p []byte) int {
	d.requestHead.data = p[:d.headSize]
	d.setRouteRequest()
	m := d.payload.matcher
	var found *route.Route
	result := route.NeedPayload
	if m == nil {
		m = d.loopState.matcher(d.settings.plan.Table)
		found, result = m.Match(&d.request, nil, d.head.Framing == wire.BodyNone)
	}
	if result == route.NeedPayload {
		if d.payload.matcher == nil {
			d.payload.matcher, d.payload.body = m, d.head.Body(&d.settings.Limits)
		}
		content, whole, err := d.peek(p[d.headSize:])
		if err != nil {
			d.malformed(err)
			return len(p)
		}
		if found, result = m.Continue(&d.request, content, whole); result == route.NeedPayload {
			d.awaitPayload()
			return 0
		}
		d.payload.matcher = nil
	}
	d.loopState.freeMatcher(m, d.settings.plan.Table)
	return d.admit(found, p)
}

// setRouteRequest makes the request that the routes are matched with: views of the head.
func (d *downstreamSide) setRouteRequest() {
	h, data := &d.head, d.requestHead.data
	d.request = route.Request{
		Method: h.MethodName.Of(data), Host: h.Authority.Of(data), Path: h.Path.Of(data), Query: h.Query.Of(data), Header: &d.requestHead,
	}
	if len(d.request.Path) == 0 {
		d.request.Path = rootPath
	}
}

var continueResponse = []byte(wire.Continue)

// awaitPayload waits for more of the payload.
func (d *downstreamSide) awaitPayload() {
	if d.state == matchingPayload {
		d.relay.Moved()
		return
	}
	d.enter(matchingPayload)
	d.relay.WatchBody()
	if d.head.Expect {
		d.relay.Changes.ContinueSent = true
		d.client.Write(continueResponse)
	}
}

// peek returns the content of the body that data begins with, from its first byte on, and whether that is all.
func (d *downstreamSide) peek(data []byte) (content []byte, whole bool, err error) {
	y := &d.payload
	if d.head.Framing != wire.Chunked {
		n := int(min(d.head.Length, int64(len(data))))
		return data[:n], int64(n) == d.head.Length, nil
	}
	if y.content == nil {
		y.content = bufpool.Get(route.MaxPayload)
	}
	for len(y.content.B) < route.MaxPayload {
		n, part, err := y.body.Next(data[y.read:])
		if err != nil {
			return nil, false, err
		}
		if n == 0 {
			break
		}
		piece := part.Content.Of(data[y.read:])
		y.content.B = append(y.content.B, piece[:min(len(piece), route.MaxPayload-len(y.content.B))]...)
		y.read += n
	}
	return y.content.B, y.body.Done(), nil
}

// admit does with the request what its route says.
func (d *downstreamSide) admit(r *route.Route, p []byte) int {
	n := d.headSize
	switch why := d.relay.Admit(r); {
	case why != traffic.Forwarded:
		n += d.takeBody(p[n:])
		d.relay.RejectRequest(why)
	case r.Redirect != nil:
		n += d.takeBody(p[n:])
		d.redirect(r)
	case r.Respond != nil:
		n += d.takeBody(p[n:])
		d.respond(r.Respond.Status, r.Respond.Headers, r.Respond.Body)
	default:
		d.forward(p)
	}
	return n + d.takeRest(p[n:])
}

// forward sends the head that p begins with to a server. Its body follows.
func (d *downstreamSide) forward(p []byte) {
	d.setChanges()
	d.relay.Method = idempotentMethods[d.head.Method]
	d.enter(sendingBody)
	d.relay.Forward(&d.requestHead)
	if d.state != sendingBody {
		return // the proxy has answered
	}
	if d.relay.KeepsRequest() {
		d.relay.Replay.KeepHead(p[:d.headSize])
		d.relay.Replay.Whole = true
	}
	if d.body.Done() {
		d.requestWhole()
	} else {
		d.relay.WatchBody()
	}
}

// idempotentMethods are those of RFC 9110, section 9.2.2: a request of one may be sent twice.
var idempotentMethods = [...][]byte{
	wire.MethodGet: []byte("GET"), wire.MethodHead: []byte("HEAD"), wire.MethodPut: []byte("PUT"), wire.MethodDelete: []byte("DELETE"),
	wire.MethodOptions: []byte("OPTIONS"), wire.MethodTrace: []byte("TRACE"), wire.MethodPatch: nil,
}

// setChanges says how this listener changes the head on its way.
func (d *downstreamSide) setChanges() {
	h, c := &d.head, &d.relay.Changes
	c.Via = d.settings.Via
	c.Upgrade = h.Upgrade && h.Framing == wire.BodyNone && d.settings.upgrades(d.requestHead.UpgradeTo())
	if d.settings.ForwardedFor {
		c.ForwardedFor, c.Proto, c.KeepForwarded = d.clientAddr(), "http", d.settings.TrustForwarded
	}
}

// SendRequest gives the request to an upstream side from its first byte on.
func (d *downstreamSide) SendRequest(up exchange.Upstream) {
	d.useKeptHead()
	d.framed = up.Request(&d.requestHead, d.head.Framing == wire.BodyNone)
	var trailers *trailerFields
	switch kept := d.relay.Replay.Body(); {
	case len(kept) == 0:
	case d.framed:
		up.RequestData(kept)
	default:
		body := d.head.Body(&d.settings.Limits)
		_, _ = passContent(&body, kept, &trailers, up.RequestData) // it was read without an error before
	}
	if d.relay.RequestEnded() {
		up.RequestEnd(trailers.fields())
	}
}

// sendBody takes what p has of the body, and passes it to the server.
func (d *downstreamSide) sendBody(p []byte) int {
	if !d.relay.Ready() {
		d.client.PauseReading()
		return 0
	}
	n, pause, err := 0, false, error(nil)
	if d.framed {
		if n, err = d.body.Take(p); n > 0 {
			pause = d.relay.RequestData(p[:n])
		}
	} else {
		n, err = passContent(&d.body, p, &d.trailers, func(content []byte) { pause = d.relay.RequestData(content) })
	}
	d.addBody(n)
	d.relay.Replay.KeepBody(p[:n])
	switch {
	case err != nil:
		d.malformed(err)
		return len(p)
	case d.body.Done():
		d.requestWhole()
	case pause:
		d.client.PauseReading()
	}
	return n
}

// requestWhole ends the request: the time for its response begins.
func (d *downstreamSide) requestWhole() {
	d.enter(awaitingResponse)
	d.relay.RequestEnd(d.trailers.fields())
}

// ResumeRequest ends a pause of the body.
func (d *downstreamSide) ResumeRequest() { d.client.ResumeReading() }

// BodyRead is how many bytes of the body have come from the client.
func (d *downstreamSide) BodyRead() int64 {
	if d.state == matchingPayload {
		return int64(len(d.client.Unread()) - d.headSize)
	}
	return d.bodyRead
}

func (d *downstreamSide) addBody(n int) {
	d.bodyRead += int64(n)
	d.relay.In += int64(n)
}

// takeBody takes what p has of the body of a request that is not forwarded.
func (d *downstreamSide) takeBody(p []byte) int {
	n, err := d.body.Take(p)
	d.addBody(n)
	if err != nil {
		d.closing = true
	}
	return n
}

// takeRest takes what p, the bytes behind the head, still has of the body.
func (d *downstreamSide) takeRest(p []byte) int {
	switch d.state {
	case sendingBody:
		return d.sendBody(p)
	case discardingBody:
		return d.discardBody(p)
	}
	return 0
}

// discardBody drops what p has of the body, behind the response.
func (d *downstreamSide) discardBody(p []byte) int {
	n, err := d.body.Take(p)
	d.bodyRead += int64(n)
	d.relay.Moved()
	switch {
	case err != nil || d.bodyRead > maxDiscard && !d.body.Done():
		d.keepAlive = false
		d.finish()
	case d.body.Done():
		d.finish()
	}
	return n
}

// malformed refuses a request that cannot be read to its end.
func (d *downstreamSide) malformed(err error) {
	status := 400
	var e *wire.Error
	if errors.As(err, &e) {
		status = e.Status
	}
	d.relay.Abandon()
	d.relay.Refuse(traffic.BadRequest)
	d.closing = true
	if d.status != 0 {
		d.Reset()
		return
	}
	d.respondStatus(status)
}

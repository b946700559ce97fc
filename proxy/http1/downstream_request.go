package http1

import (
	"errors"

	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"

	wire "example.com/ferry/protocol/http1"
)

// maxDiscard is the number of body bytes that are discarded after the response so that the connection can be reused.
// If more follow, the connection is closed.
const maxDiscard = 256 << 10

// readHead parses the head of a request. If the head is complete, readHead also processes the bytes after it.
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
	d.requestHead = requestHead{&d.head, p[:n], d.relay.TLS != nil}
	d.relay.In = int64(n)
	d.body = d.head.Body(&d.settings.Limits)
	if d.head.Method == wire.MethodConnect {
		d.relay.Refuse(traffic.BadRequest)
		d.closing = true // the client may already have sent bytes for the tunnel, which must not be parsed as a request
		d.respondStatus(501)
		return n + d.handleBodyAfterHead(p[n:])
	}
	upgrade := d.head.Upgrade && d.head.Framing == wire.BodyNone && d.settings.MayUpgrade(d.requestHead.UpgradeTo())
	d.relay.SetChanges(&d.settings.HTTPConfig, upgrade)
	return d.match(p)
}

// match finds the route of the request, and forwards it or responds. p begins with the request's head.
func (d *downstreamSide) match(p []byte) int {
	n := d.headSize
	d.requestHead.data = p[:n]
	up, outcome := d.relay.Forward(&d.requestHead, d.head.Framing == wire.BodyNone)
	if outcome == exchange.Undecided {
		if d.state != matchingPayload {
			d.payload.body = d.head.Body(&d.settings.Limits)
		}
		content, whole, err := d.peekContent(p[n:])
		if err != nil {
			d.malformed(err)
			return len(p)
		}
		up, outcome = d.relay.ForwardPayload(content, whole)
	}
	if outcome != exchange.Refused {
		d.relay.Replay.KeepHead(p[:n])
	}
	switch outcome {
	case exchange.Undecided:
		d.awaitPayload()
		return 0
	case exchange.Refused:
		n += d.discardUnforwardedBody(p[n:])
		d.relay.Respond()
	case exchange.Forwarded:
		d.forward(up)
	}
	return n + d.handleBodyAfterHead(p[n:])
}

var continueResponse = []byte(wire.Continue)

// awaitPayload waits for more bytes of the body.
func (d *downstreamSide) awaitPayload() {
	if d.state == matchingPayload {
		d.relay.Moved()
		return
	}
	d.enter(matchingPayload)
	d.relay.WatchBody()
	if d.head.Expect {
		d.relay.Changes.NoExpect = true
		d.client.Write(continueResponse)
	}
}

// peekContent returns the decoded content of the body from its first byte. data begins with the body. whole means that
// content is the entire body.
func (d *downstreamSide) peekContent(data []byte) (content []byte, whole bool, err error) {
	y := &d.payload
	if d.head.Framing != wire.Chunked {
		n := int(min(d.head.Length, int64(len(data))))
		return data[:n], int64(n) == d.head.Length, nil
	}
	for len(y.content.Bytes()) < route.MaxPayload {
		n, part, err := y.body.Next(data[y.decodedBytes:])
		if err != nil {
			return nil, false, err
		}
		if n == 0 {
			break
		}
		piece := part.Content.Of(data[y.decodedBytes:])
		y.content.Append(d.client.Loop(), piece[:min(len(piece), route.MaxPayload-len(y.content.Bytes()))])
		y.decodedBytes += n
	}
	return y.content.Bytes(), y.body.Done(), nil
}

// forward sends the request's head to up. The body follows later. up is nil if the request waits for a connection.
func (d *downstreamSide) forward(up exchange.Upstream) {
	d.enter(sendingBody)
	if up != nil {
		d.SendRequest(up)
	}
	switch {
	case d.relay.Changes.Upgrade && (d.tunnel || up == nil):
		d.enter(awaitingResponse) // the client's side of a tunnel is open; SendRequest knows whether it is one
	case d.body.Done():
		d.requestWhole()
	default:
		d.relay.WatchBody()
	}
}

// SendRequest sends the request to up from its first byte.
func (d *downstreamSide) SendRequest(up exchange.Upstream) {
	d.useReplayHead()
	upgrade := d.relay.Changes.Upgrade
	d.framed = up.Request(&d.requestHead, d.head.Framing == wire.BodyNone && !upgrade)
	d.tunnel = upgrade && !d.framed
	var trailers *exchange.KeptFields
	switch kept := d.relay.Replay.Body(); {
	case len(kept) == 0:
	case d.framed:
		up.RequestData(kept, false)
	default:
		body := d.head.Body(&d.settings.Limits)
		_, _ = passContent(&body, kept, &trailers, up.RequestData) // no error is possible: these bytes were decoded before
	}
	switch {
	case d.relay.RequestEnded():
		up.RequestEnd(trailers.Fields())
	case upgrade && d.framed && d.state == awaitingResponse:
		d.relay.RequestEnd(nil) // it waited for a connection, which turns out to speak HTTP/1.1
	}
}

// sendBody forwards the part of the body in p to the server. It returns the number of bytes processed.
func (d *downstreamSide) sendBody(p []byte) int {
	if !d.relay.Ready() {
		d.client.PauseReading()
		return 0
	}
	n, pause, err := 0, false, error(nil)
	if d.framed {
		n, err = d.body.Pass(p, func(piece []byte) {
			pause = d.relay.RequestData(piece, false)
			d.relay.Replay.KeepBody(piece)
		})
	} else {
		n, err = passContent(&d.body, p, &d.trailers, func(content []byte, last bool) { pause = d.relay.RequestData(content, last) })
		d.relay.Replay.KeepBody(p[:n])
	}
	d.addBody(n)
	switch {
	case err != nil:
		d.malformed(err)
		return len(p)
	case d.body.Done():
		d.requestWhole()
	case pause:
		d.client.PauseReading()
	}
	if d.state == sendingBody && d.framed && splices(&d.body, len(p)) {
		d.client.Splice()
	}
	return n
}

// requestWhole ends the request. The response timeout starts.
func (d *downstreamSide) requestWhole() {
	d.enter(awaitingResponse)
	d.relay.RequestEnd(d.trailers.Fields())
}

// ResumeRequest ends a pause of the body.
func (d *downstreamSide) ResumeRequest() { d.client.ResumeReading() }

// BodyRead returns the number of body bytes that were read from the client.
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

// discardUnforwardedBody reads and discards the part of the body in p. The request is one that is not forwarded.
func (d *downstreamSide) discardUnforwardedBody(p []byte) int {
	n, err := d.body.Take(p)
	d.addBody(n)
	if err != nil {
		d.closing = true
	}
	return n
}

// handleBodyAfterHead processes the bytes of the body that arrived together with the head. p is the bytes after the head.
func (d *downstreamSide) handleBodyAfterHead(p []byte) int {
	switch d.state {
	case sendingBody:
		return d.sendBody(p)
	case discardingBody:
		return d.discardBody(p)
	}
	return 0
}

// discardBody discards the part of the body in p. The response has already ended.
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

// malformed rejects a request that cannot be parsed.
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

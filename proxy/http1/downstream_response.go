package http1

import (
	"errors"

	"example.com/ferry/proxy/exchange"

	wire "example.com/ferry/protocol/http1"
)

var errTruncated = errors.New("http1: the server's response ended too early: so does the client's")

// Interim passes on a 1xx response. Clients of HTTP/1.0 do not get it (RFC 9110, section 15.2).
func (d *downstreamSide) Interim(h exchange.ResponseHead) {
	if d.head.Minor == 0 {
		return
	}
	d.loopState.edit = wire.ResponseEdit{Via: d.settings.Via}
	d.writeHead(d.appendHead(h))
}

// Response writes the response's head.
func (d *downstreamSide) Response(h exchange.ResponseHead, end bool) (framed bool) {
	if d.tunnel && h.Status()/100 == 2 {
		d.openTunnel(h)
		return false
	}
	d.status = h.Status()
	d.framing = d.chooseFraming(h, end)
	d.keepAlive = d.keepsConnection() && d.framing != untilClose
	if same, ok := h.(*responseHead); ok && same.head.Framing == wire.UntilClose {
		d.keepAlive = false
	}
	d.loopState.edit = wire.ResponseEdit{
		Close: !d.keepAlive, KeepAlive: d.head.Minor == 0, Decoded: d.framing == untilClose, Via: d.settings.Via,
		Date: d.loopState.clock.Date(d.settings.plan, d.client.Loop().Now()), Fields: d.relay.Route.ResponseEdits,
	}
	d.writeHead(d.appendHead(h))
	return d.framing == asReceived
}

// writeHead sends a head to the client. head is in the loop's scratch memory.
func (d *downstreamSide) writeHead(head []byte) {
	d.loopState.scratch = head
	d.send(head)
}

func (d *downstreamSide) send(p []byte) {
	d.client.Write(p)
	d.relay.Out += int64(len(p))
}

// keepsConnection reports whether the client's connection can be used for another request. It counts the request, so
// it is called only once per request.
func (d *downstreamSide) keepsConnection() bool {
	if d.lastRequest() || d.closing || !d.head.KeepAlive || d.settings.plan.Overload.EndsKeepAlive() {
		return false
	}
	if d.body.Done() {
		return true
	}
	// The rest of the body has to be discarded. A client that waits for 100 Continue may or may not send the body, so
	// its connection cannot be reused.
	return d.head.Framing == wire.Length && d.head.Length-d.bodyRead <= maxDiscard && (!d.head.Expect || d.bodyRead > 0)
}

// ResponseData writes a piece of the body.
func (d *downstreamSide) ResponseData(p []byte, _ bool) {
	if d.framing == inChunks {
		d.sendChunk(p)
		return
	}
	d.client.WriteNow(p)
	d.relay.Out += int64(len(p))
}

// ResponseEnd ends the response.
func (d *downstreamSide) ResponseEnd(trailers exchange.Fields) {
	if d.framing == inChunks {
		d.endChunks(trailers)
	}
	d.relay.Finish(d.status)
	d.responseOver()
}

// responseOver prepares the connection for the next request. If part of the request's body is missing, it is
// discarded first.
func (d *downstreamSide) responseOver() {
	if d.body.Done() || !d.keepAlive {
		d.finish()
		return
	}
	d.enter(discardingBody)
	d.bodyRead = 0
	d.relay.WatchBody()
	resume(d.client)
}

// Reject sends a response of the proxy's own.
func (d *downstreamSide) Reject(why exchange.Rejection) {
	if why == exchange.RequestTimeout || why == exchange.Misdirected {
		d.closing = true
	}
	d.respondStatus(why.HTTPStatus())
}

// Reset aborts the connection while a response is incomplete, so that the client does not treat the response as
// complete. After a complete response Reset closes the connection, because the rest of the request body will not
// arrive.
func (d *downstreamSide) Reset() {
	if d.state == discardingBody {
		d.keepAlive = false
		d.finish()
		return
	}
	d.relay.Abandon()
	d.relay.Finish(d.status)
	d.client.SetHandler(d.loopState.idle)
	d.client.Abort(errTruncated)
	d.release()
}

// ResponseFull reports whether the client's queue is at its high watermark.
func (d *downstreamSide) ResponseFull() bool { return d.client.Full() }

// Unsent returns the number of bytes that the client has not acknowledged.
func (d *downstreamSide) Unsent() int { return d.client.Unsent() }

// respondStatus sends an error response of the proxy's own. No response has started yet.
func (d *downstreamSide) respondStatus(status int) {
	fields, body := d.relay.ErrorResponse(status)
	d.Respond(status, fields, body)
}

// Respond sends a response of the proxy's own.
func (d *downstreamSide) Respond(status int, fields []wire.Pair, body string) {
	d.keepAlive = d.keepsConnection()
	b := appendStatusLine(d.loopState.scratch[:0], status)
	for _, f := range fields {
		b = appendField(b, f.Name, f.Value)
	}
	if status != 204 && status != 304 { // RFC 9110, sections 8.6 and 15.4.5
		b = appendContentLength(b, int64(len(body)))
		if d.head.Method == wire.MethodHead {
			body = ""
		}
	} else {
		body = ""
	}
	connection := "keep-alive"
	if !d.keepAlive {
		connection = "close"
	}
	b = appendField(b, "Connection", connection)
	b = append(b, "\r\n"...)
	d.writeHead(append(b, body...))
	d.relay.Finish(status)
	d.responseOver()
}

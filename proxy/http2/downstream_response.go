package http2

import (
	"strconv"

	"example.com/ferry/protocol/httprule"
	"example.com/ferry/proxy/exchange"

	http1 "example.com/ferry/protocol/http1"
	wire "example.com/ferry/protocol/http2"
)

// fieldWriter writes the fields of responses. A loop has one, with functions that are made once: a function that is made for
// a call through an interface is allocated.
type fieldWriter struct {
	encoder *wire.Encoder
	edits   *http1.Edits
	bytes   int // bytes of names and values written
	each    func(name, value []byte) bool
	trailer func(name, value []byte) bool
	any     bool
	note    func(name, value []byte) bool
}

func (w *fieldWriter) init() {
	w.each = func(name, value []byte) bool {
		if httprule.InResponse(name) && !w.edits.Removes(name) {
			w.bytes += len(name) + len(value)
			w.encoder.Field(name, value)
		}
		return true
	}
	w.trailer = func(name, value []byte) bool {
		if httprule.InTrailers(name) {
			w.each(name, value)
		}
		return true
	}
	w.note = func(name, _ []byte) bool {
		w.any = httprule.InTrailers(name)
		return !w.any
	}
}

// forward writes the fields of h. The caller has set encoder and edits.
func (w *fieldWriter) forward(h exchange.ResponseHead) {
	same, ok := h.(*responseHead)
	if !ok {
		h.All(w.each)
		return
	}
	for i := range same.Len() {
		if name, _ := same.Field(i); httprule.InResponse(name) {
			w.forwardField(same.Head, i)
		}
	}
}

// forwardTrailers writes trailers.
func (w *fieldWriter) forwardTrailers(trailers exchange.Fields) {
	h := trailersHead(trailers)
	if h == nil {
		trailers.All(w.trailer)
		return
	}
	for i := range h.Len() {
		if name, _ := h.Field(i); httprule.InTrailers(name) {
			w.forwardField(h, i)
		}
	}
}

// forwardField writes a field of h. A field that no table may index stays so.
func (w *fieldWriter) forwardField(h *wire.Head, i int) {
	if name, value := h.Field(i); !w.edits.Removes(name) {
		w.bytes += len(name) + len(value)
		w.encoder.HeadField(h, i)
	}
}

// has reports whether there is a field in fields, which may be nil.
func (w *fieldWriter) has(fields exchange.Fields) bool {
	if fields == nil {
		return false
	}
	w.any = false
	fields.All(w.note)
	return w.any
}

// Interim passes on a 1xx response. No window bounds heads, so the response is paused while the queue of the connection is full. A server of HTTP/2
// cannot be paused there: what it sends meanwhile is dropped, because a client that does not read has no use for it.
func (d *downstreamSide) Interim(h exchange.ResponseHead) {
	if d.interimHeld {
		return
	}
	d.writeHead(h, nil, false)
	if d.client.conn.Full() {
		d.interimHeld = true
		d.client.interimHeld = append(d.client.interimHeld, d)
	}
}

// Response writes the response's head.
func (d *downstreamSide) Response(h exchange.ResponseHead, end bool) (framed bool) {
	d.status, d.ended = h.Status(), end
	opened := d.opensTunnel(h)
	d.writeHead(h, d.relay.Route.ResponseEdits, end)
	if opened && !end {
		d.tunnelOpened()
	}
	return false
}

// opensTunnel reports whether the response accepts the tunnel that the client asked for.
func (d *downstreamSide) opensTunnel(h exchange.ResponseHead) bool {
	return d.tunnel && h.Status()/100 == 2
}

// writeHead writes the head of a response with the route's edits.
func (d *downstreamSide) writeHead(h exchange.ResponseHead, edits *http1.Edits, end bool) {
	w := &d.loopState.fields
	e := d.stream.BeginHeaders()
	w.encoder, w.edits, w.bytes = e, edits, 0
	e.Status(h.Status())
	w.forward(h)
	if h.Status() >= 200 {
		if date := d.loopState.clock.Date(d.settings.plan, d.client.conn.Loop().Now()); date != "" && h.Get("date") == nil && !edits.Removes(dateName) {
			e.FieldString("date", date)
		}
		for _, pair := range edits.Written() {
			e.FieldString(pair.Name, pair.Value)
		}
		if n := h.ContentLength(); n >= 0 && h.Status() != 204 && !d.opensTunnel(h) { // RFC 9110, section 8.6
			d.writeLength(e, n)
		}
	}
	if d.settings.Via != "" {
		via := d.settings.via[1]
		if _, same := exchange.Received(h).(*responseHead); same {
			via = d.settings.via[0]
		}
		e.FieldString("via", via)
	}
	e.End(end)
	d.relay.Out += int64(w.bytes)
	w.encoder, w.edits = nil, nil
}

// ResponseData writes a piece of the body. END_STREAM leaves with the last piece, if that is known.
func (d *downstreamSide) ResponseData(p []byte, last bool) {
	d.relay.Out += int64(len(p))
	d.ended = last
	d.stream.Write(p, last)
}

// ResponseEnd ends the response.
func (d *downstreamSide) ResponseEnd(trailers exchange.Fields) {
	switch w := &d.loopState.fields; {
	case d.ended:
	case w.has(trailers):
		e := d.stream.BeginHeaders()
		w.encoder, w.edits, w.bytes = e, nil, 0
		w.forwardTrailers(trailers)
		e.End(true)
		d.relay.Out += int64(w.bytes)
		w.encoder = nil
	default:
		d.stream.Write(nil, true)
	}
	d.responseOver()
}

// Reject sends a response of the proxy's own.
func (d *downstreamSide) Reject(why exchange.Rejection) {
	if why == exchange.Misdirected {
		d.client.Shutdown(d.client.conn)
	}
	if d.relay.GRPC {
		d.respondGRPC(why.GRPCStatus())
		return
	}
	d.respondStatus(why.HTTPStatus())
}

// ResponseFull reports whether the stream's queue is at its high watermark, or interim responses have filled that of the connection.
func (d *downstreamSide) ResponseFull() bool { return d.stream.Full() || d.interimHeld }

// Unsent returns the number of response bytes that the client has not acknowledged. Bytes that wait for a window of HTTP/2
// stay in the stream's queue. Other bytes are in the queue of the connection, which all its streams share.
func (d *downstreamSide) Unsent() int {
	if queued := d.stream.Queued(); queued > 0 && !d.client.conn.Full() {
		return queued
	}
	return d.stream.Queued() + d.client.conn.Unsent()
}

// respondStatus sends an error response of the proxy's own. No response has started yet.
func (d *downstreamSide) respondStatus(status int) {
	if d.relay.GRPC {
		d.respondGRPC(exchange.GRPCStatusOf(status), exchange.StatusText(status))
		return
	}
	fields, body := d.relay.ErrorResponse(status)
	d.Respond(status, fields, body)
}

// writePairs writes fields whose names may have upper-case letters.
func writePairs(e *wire.Encoder, fields []http1.Pair) {
	for _, f := range fields {
		e.FieldString(f.Name, f.Value)
	}
}

// respondGRPC sends a gRPC response that has no message. gRPC, PROTOCOL-HTTP2.md: Trailers-Only.
func (d *downstreamSide) respondGRPC(status int, message string) {
	d.relay.SetGRPCStatus(status)
	e := d.beginLocal(200)
	e.FieldString("content-type", "application/grpc")
	e.Field(grpcStatus, strconv.AppendInt(d.loopState.scratch[:0], int64(status), 10))
	e.FieldString("grpc-message", message)
	writePairs(e, d.relay.ErrorFields())
	e.End(true)
	d.responseOver()
}

// Respond sends a response of the proxy's own.
func (d *downstreamSide) Respond(status int, fields []http1.Pair, body string) {
	e := d.beginLocal(status)
	writePairs(e, fields)
	bodyless := status == 204 || status == 304 // RFC 9110, sections 8.6 and 15.4.5
	if !bodyless {
		d.writeLength(e, int64(len(body)))
	}
	if bodyless || d.headOnly || body == "" {
		e.End(true)
	} else {
		e.End(false)
		d.relay.Out += int64(len(body))
		d.loopState.scratch = append(d.loopState.scratch[:0], body...)
		d.stream.Write(d.loopState.scratch, true)
	}
	d.responseOver()
}

var (
	contentLength = []byte("content-length")
	dateName      = []byte("date")
	grpcStatus    = []byte("grpc-status")
)

func (d *downstreamSide) beginLocal(status int) *wire.Encoder {
	d.status = status
	e := d.stream.BeginHeaders()
	e.Status(status)
	return e
}

// writeLength writes a Content-Length field.
func (d *downstreamSide) writeLength(e *wire.Encoder, n int64) {
	var digits [20]byte
	e.Field(contentLength, strconv.AppendInt(digits[:0], n, 10))
}

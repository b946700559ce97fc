package http2

import (
	"strconv"

	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"

	http1 "example.com/ferry/protocol/http1"
	wire "example.com/ferry/protocol/http2"
)

// respondStatus sends an error response of the proxy's own. No response has started yet.
func (d *downstreamSide) respondStatus(status int) {
	if d.relay.GRPC {
		d.respondGRPC(exchange.GRPCStatusOf(status), exchange.StatusText(status))
		return
	}
	fields, body := d.relay.ErrorResponse(status)
	d.respond(status, fields, body)
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

// respond sends the fixed response of a route.
func (d *downstreamSide) respond(status int, fields []http1.Pair, body string) {
	e := d.beginLocal(status)
	writePairs(e, fields)
	d.loopState.scratch = append(d.loopState.scratch[:0], body...)
	d.endLocal(e, d.loopState.scratch)
}

// redirect sends the redirect of a route.
func (d *downstreamSide) redirect(r *route.Route) {
	e := d.beginLocal(r.Redirect.Status)
	d.loopState.scratch = r.AppendLocation(d.loopState.scratch[:0], &d.request)
	e.Field(location, d.loopState.scratch)
	d.endLocal(e, nil)
}

var (
	location      = []byte("location")
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

// endLocal completes the head of a response of the proxy's own and writes the body.
func (d *downstreamSide) endLocal(e *wire.Encoder, body []byte) {
	bodyless := d.status == 204 || d.status == 304 // RFC 9110, sections 8.6 and 15.4.5
	if !bodyless {
		d.writeLength(e, int64(len(body)))
	}
	if bodyless || d.headOnly || len(body) == 0 {
		e.End(true)
	} else {
		e.End(false)
		d.relay.Out += int64(len(body))
		d.stream.Write(body, true)
	}
	d.responseOver()
}

// writeLength writes a Content-Length field.
func (d *downstreamSide) writeLength(e *wire.Encoder, n int64) {
	var digits [20]byte
	e.Field(contentLength, strconv.AppendInt(digits[:0], n, 10))
}

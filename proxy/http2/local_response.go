package http2

import (
	"strconv"

	"example.com/ferry/proxy/exchange"

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

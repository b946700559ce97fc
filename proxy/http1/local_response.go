package http1

import (
	"strconv"

	"example.com/ferry/proxy/route"

	wire "example.com/ferry/protocol/http1"
)

// respondStatus sends an error response of the proxy's own. No response has started yet.
func (d *downstreamSide) respondStatus(status int) {
	fields, body := d.relay.ErrorResponse(status)
	d.respond(status, fields, body)
}

// respond sends the fixed response of a route.
func (d *downstreamSide) respond(status int, fields []wire.Pair, body string) {
	d.keepAlive = d.keepsConnection()
	b := appendStatusLine(d.loopState.scratch[:0], status)
	for _, f := range fields {
		b = appendField(b, f.Name, f.Value)
	}
	d.writeLocal(b, status, body)
}

// redirect sends the redirect of a route.
func (d *downstreamSide) redirect(r *route.Route) {
	d.keepAlive = d.keepsConnection()
	b := appendStatusLine(d.loopState.scratch[:0], r.Redirect.Status)
	b = append(b, "Location: "...)
	b = r.AppendLocation(b, &d.loopState.request)
	b = append(b, "\r\n"...)
	d.writeLocal(b, r.Redirect.Status, "")
}

// writeLocal completes the head of a response of the proxy's own, then writes the head and the body.
func (d *downstreamSide) writeLocal(b []byte, status int, body string) {
	if status != 204 && status != 304 { // RFC 9110, sections 8.6 and 15.4.5
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, int64(len(body)), 10)
		b = append(b, "\r\n"...)
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
	d.countRequest(status)
	d.responseOver()
}

package http1

import wire "example.com/ferry/protocol/http1"

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
	d.countRequest(status)
	d.responseOver()
}

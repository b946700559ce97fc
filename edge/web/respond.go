package web

import (
	"time"

	"example.com/ferry/edge"
	"example.com/ferry/protocol/http1"
)

// fail responds with an error. The rest of the body is not read, so the connection closes if there is any.
func (r *request) fail(status int, code, reason string) {
	extra := ""
	switch status {
	case 401:
		extra = "WWW-Authenticate: Bearer\r\n"
	case 429, 503:
		extra = "Retry-After: 1\r\n"
	}
	r.respond(status, "application/json", edge.Problem(code, reason), extra)
}

// refuse responds with an error.
func (r *request) refuse(why *edge.Refusal) {
	r.respond(why.Status, "application/json", edge.Problem(why.Code, why.Reason), why.Fields)
}

// respond writes the response and ends the request.
func (r *request) respond(status int, mediaType string, body []byte, extra string) {
	if !r.body.Done() {
		r.keepAlive = false
	}
	b := append(r.appendHead(r.ls.scratch[:0], status), extra...)
	if status == 204 {
		b = append(b, "\r\n"...)
	} else {
		b = edge.AppendBody(b, mediaType, body, r.head.Method != http1.MethodHead)
	}
	r.conn.Write(b)
	r.ls.scratch = b[:0]
	r.finish()
}

// appendHead appends the first line and the fields that all responses have. It counts the response.
func (r *request) appendHead(b []byte, status int) []byte {
	r.ls.server.counters.requests[status/100].Add(1)
	b = append(edge.AppendStatus(b, status), "Date: "...)
	b = append(append(b, r.ls.date()...), '\r', '\n')
	switch {
	case !r.keepAlive:
		b = append(b, "Connection: close\r\n"...)
	case r.head.Minor == 0:
		b = append(b, "Connection: keep-alive\r\n"...)
	}
	if len(r.fields.origin) > 0 || len(r.ls.server.Origins()) > 0 {
		b = append(b, "Vary: Origin\r\n"...)
	}
	if r.origin != "" {
		b = append(append(append(b, "Access-Control-Allow-Origin: "...), r.origin...), '\r', '\n')
	}
	return b
}

// date returns the value of the Date field.
func (ls *loopState) date() []byte {
	if now := ls.Now(); ls.dateText == nil || now-ls.dated >= dateInterval {
		ls.dated = now
		ls.dateText = time.Now().UTC().AppendFormat(ls.dateText[:0], "Mon, 02 Jan 2006 15:04:05 GMT")
	}
	return ls.dateText
}

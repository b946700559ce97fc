package web

import (
	"strconv"
	"time"

	"example.com/ferry/protocol/http1"
)

var reasons = map[int]string{
	200: "OK", 204: "No Content", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
	408: "Request Timeout", 413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type", 417: "Expectation Failed",
	421: "Misdirected Request", 422: "Unprocessable Content", 426: "Upgrade Required", 429: "Too Many Requests",
	431: "Request Header Fields Too Large", 500: "Internal Server Error", 503: "Service Unavailable", 505: "HTTP Version Not Supported",
}

// fail responds with an error. The rest of the body is not read, so the connection closes if there is any.
func (r *request) fail(status int, code, reason string) {
	extra := ""
	switch status {
	case 401:
		extra = "WWW-Authenticate: Bearer\r\n"
	case 429, 503:
		extra = "Retry-After: 1\r\n"
	}
	r.respond(status, "application/json", problem(code, reason), extra)
}

// respond writes the response and ends the request.
func (r *request) respond(status int, mediaType string, body []byte, extra string) {
	if !r.body.Done() {
		r.keepAlive = false
	}
	b := r.appendHead(r.ls.scratch[:0], status)
	b = append(b, extra...)
	if status != 204 {
		if mediaType != "" {
			b = append(append(append(b, "Content-Type: "...), mediaType...), '\r', '\n')
		}
		b = append(strconv.AppendInt(append(b, "Content-Length: "...), int64(len(body)), 10), '\r', '\n')
	}
	b = append(b, '\r', '\n')
	if r.head.Method != http1.MethodHead {
		b = append(b, body...)
	}
	r.conn.Write(b)
	r.ls.scratch = b[:0]
	r.finish()
}

// appendHead appends the first line and the fields that all responses have. It counts the response.
func (r *request) appendHead(b []byte, status int) []byte {
	r.ls.server.counters.requests[status/100].Add(1)
	b = append(b, "HTTP/1.1 "...)
	b = append(strconv.AppendInt(b, int64(status), 10), ' ')
	b = append(append(b, reasons[status]...), "\r\nDate: "...)
	b = append(append(b, r.ls.date()...), '\r', '\n')
	switch {
	case !r.keepAlive:
		b = append(b, "Connection: close\r\n"...)
	case r.head.Minor == 0:
		b = append(b, "Connection: keep-alive\r\n"...)
	}
	if len(r.fields.origin) > 0 || len(*r.ls.server.origins.Load()) > 0 {
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

// problem returns the body of an error.
func problem(code, reason string) []byte {
	b := append([]byte(`{"error":{"code":`), appendString(nil, code)...)
	b = appendString(append(b, `,"reason":`...), reason)
	return append(b, "}}\n"...)
}

const hex = "0123456789abcdef"

// appendString appends s as a JSON string (RFC 8259, section 7). Bytes that are not UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c < ' ' || c == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, string(c)...)
		}
	}
	return append(b, '"')
}

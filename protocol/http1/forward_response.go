package http1

import "strconv"

// ResponseEdit is how a response's head changes on its way to a client. The zero value removes the fields of the server's
// connection, and nothing else.
type ResponseEdit struct {
	Close     bool   // write Connection: close, as the proxy closes behind it
	KeepAlive bool   // write Connection: keep-alive, for a client of HTTP/1.0 that asked for it. Close has precedence
	Decoded   bool   // the client speaks HTTP/1.0: a chunked body is sent without chunks, and ends with the connection
	Via       string // this proxy's name, for Via; empty for none
	Fields    *Edits
	Upgrade   bool // forward Upgrade: the connection becomes a tunnel
}

// Validate returns an error for an edit that could not be encoded.
func (e *ResponseEdit) Validate() error { return validVia(e.Via) }

var noResponseEdit ResponseEdit

// AppendResponse appends the head of a response as it goes to a client. h was parsed from data. The result is HTTP/1.1, with one
// framing field or none, and without the fields of the server's connection. A body that ends with the server's connection gives
// Connection: close. A nil edit is the zero value.
func AppendResponse(dst, data []byte, h *Head, e *ResponseEdit) []byte {
	if e == nil {
		e = &noResponseEdit
	}
	drop := hopByHop | h.rewritten
	frames := true
	if h.Framing == Tunnel || h.Status/100 == 1 || h.Status == 204 {
		drop |= framing // RFC 9112, section 6.1, and RFC 9110, section 8.6: they have none
		frames = false
	}
	closes := e.Close || h.Framing == UntilClose
	if e.Decoded && h.Framing == Chunked {
		drop |= framing | set(Trailer)
		frames, closes = false, true
	}

	from := h.line.Start
	if h.Minor == 0 || h.Reason.Start < h.line.Start+13 {
		dst = append(dst, "HTTP/1.1 "...)
		dst = strconv.AppendInt(dst, int64(h.Status), 10)
		dst = append(dst, ' ')
		dst = append(dst, h.Reason.Of(data)...)
		dst = append(dst, "\r\n"...)
		from = h.line.End
	}
	dst = h.appendFields(dst, data, int(from), drop, e.Fields)
	if frames {
		dst = h.appendFraming(dst)
	}
	dst = h.appendVia(dst, e.Via)
	switch {
	case e.Upgrade && h.Upgrade:
		dst = h.appendUpgrade(dst, data)
	case h.Framing == Tunnel || h.Status/100 == 1:
		// The connection stays open.
	case closes:
		dst = append(dst, "Connection: close\r\n"...)
	case e.KeepAlive:
		dst = append(dst, "Connection: keep-alive\r\n"...)
	}
	return append(dst, "\r\n"...)
}

func appendLength(dst []byte, n int64) []byte {
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, n, 10)
	return append(dst, "\r\n"...)
}

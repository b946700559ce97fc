package http1

import "strconv"

// ResponseEdit says how a response's head changes on its way to a client. The zero value sends it as it came, less what was
// meant for the server's connection only.
type ResponseEdit struct {
	Close     bool   // write Connection: close, as the proxy closes behind it
	KeepAlive bool   // write Connection: keep-alive, as a client of HTTP/1.0 that asked for it expects. Close wins
	Decoded   bool   // the client speaks HTTP/1.0: what is chunked is sent to it without the chunks, and ends with Close
	Via       string // this proxy's name, for Via; empty for none
	Fields    *Edits
	Upgrade   bool // pass Upgrade on: the connection becomes a tunnel
}

// Validate reports what of a configured edit could not be sent.
func (e *ResponseEdit) Validate() error { return validVia(e.Via) }

var nothingBack ResponseEdit

// AppendResponse appends the head of the response that h was parsed from data to its end, as it is to go to a client: HTTP/1.1, one framing
// or none, no field meant for the server's connection. What ends with the server's connection is marked Connection: close. A
// nil edit is the zero value.
func AppendResponse(dst, data []byte, h *Head, e *ResponseEdit) []byte {
	if e == nil {
		e = &nothingBack
	}
	drop := hopByHop | h.odd
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
		// The connection goes on, whatever it becomes.
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

package http1

import (
	"strconv"

	"example.com/ferry/protocol/httprule"
)

// Continue is the interim response that a client with Head.Expect waits for before it sends the body. RFC 9110, section
// 15.2.1.
const Continue = "HTTP/1.1 100 Continue\r\n\r\n"

// ResponseEdit says how a response's head changes before the proxy forwards it to a client. The zero value only removes the
// fields that are meant for the server's connection.
type ResponseEdit struct {
	Close     bool   // write Connection: close, because the proxy closes the connection after this response
	KeepAlive bool   // write Connection: keep-alive for a client of HTTP/1.0 that requested it; Close has precedence
	Decoded   bool   // the client speaks HTTP/1.0: a chunked body is sent without the chunked encoding and ends with the connection
	Date      string // the time of the response, written if the server has sent no Date (RFC 9110, section 6.6.1); empty adds none
	Via       string // this proxy's name for Via; empty adds no Via
	Fields    *Edits
	Upgrade   bool // forward Upgrade, because the connection becomes a tunnel
}

// Validate returns an error for an edit that cannot be encoded.
func (e *ResponseEdit) Validate() error { return validVia(e.Via) }

var (
	noResponseEdit ResponseEdit
	dateName       = []byte("date")
)

// AppendResponse appends the head of a response for a client. h was parsed from data. The result is HTTP/1.1 with one framing
// field at most. The fields that are meant for the server's connection are removed. If the body ends with the server's
// connection, the result has Connection: close. A nil edit is the zero value.
func AppendResponse(dst, data []byte, h *Head, e *ResponseEdit) []byte {
	if e == nil {
		e = &noResponseEdit
	}
	drop := httprule.HopByHop | h.rewritten
	frames := true
	if h.Framing == Tunnel || h.Status/100 == 1 || h.Status == 204 {
		drop |= httprule.Framing // such responses have no framing fields: RFC 9112, section 6.1, and RFC 9110, section 8.6
		frames = false
	}
	closes := e.Close || h.Framing == UntilClose
	if e.Decoded && h.Framing == Chunked {
		drop |= httprule.Framing | httprule.SetOf(httprule.Trailer)
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
	if e.Date != "" && !h.seenIDs.Has(httprule.Date) && !e.Fields.Removes(dateName) {
		dst = appendField(dst, "Date", e.Date)
	}
	dst = h.appendVia(dst, e.Via)
	switch {
	case e.Upgrade && h.Upgrade:
		dst = h.appendUpgrade(dst, data)
	case h.Framing == Tunnel || h.Status/100 == 1:
		// These responses need no Connection field: the connection stays open.
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

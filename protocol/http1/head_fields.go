package http1

import (
	"bytes"
	"fmt"

	"example.com/ferry/protocol/httprule"
)

// takeField evaluates a field that has a meaning for the proxy. next is the offset after the field's line.
func (h *Head) takeField(data []byte, f Field, next int) error {
	value := f.Value.Of(data)
	again := h.seenIDs.Has(f.ID)
	h.seenIDs |= httprule.SetOf(f.ID)
	bad := func(reason string) error {
		return h.refuse(400, int(f.Value.Start), reason+" in "+quote(data[f.Name.Start:next]))
	}
	switch f.ID {
	case httprule.Host:
		if h.response {
			return nil
		}
		if again {
			return bad("a second Host field")
		}
		if !httprule.ValidHost(value, false) {
			return bad("no host name, with or without a port,")
		}
		h.hostField = f.Value
	case httprule.ContentLength:
		if again {
			return bad("a second Content-Length field")
		}
		n, ok := httprule.ParseLength(value)
		if !ok {
			return bad("no number of bytes")
		}
		h.length = n
		h.checkCanonical(data, f, next, len(value) == 1 || value[0] != '0')
	case httprule.TransferEncoding:
		if again {
			return bad("a second Transfer-Encoding field")
		}
		if !httprule.EqualFold(value, "chunked") {
			return bad("a transfer coding other than chunked")
		}
		h.checkCanonical(data, f, next, string(value) == "chunked")
	case httprule.Connection:
		return h.takeConnection(data, f, bad)
	case httprule.Trailer:
		for at := f.Value; ; {
			name, rest, ok := nextListToken(data, at)
			if !ok {
				return bad("no list of field names")
			}
			if name.Empty() {
				break
			}
			if !httprule.InTrailers(name.Of(data)) {
				return bad("a field that is not allowed in a trailer")
			}
			at = rest
		}
	case httprule.TE:
		for item := range bytes.SplitSeq(value, []byte{','}) {
			h.options.trailers = h.options.trailers || bytes.EqualFold(bytes.TrimSpace(item), []byte("trailers"))
		}
	case httprule.Expect:
		if h.response || h.Minor == 0 {
			return nil // RFC 9110, section 10.1.1: ignore Expect in a response and in HTTP/1.0
		}
		if !bytes.EqualFold(value, []byte("100-continue")) {
			return h.refuse(417, int(f.Value.Start), "an expectation other than 100-continue in "+quote(data[f.Name.Start:next]))
		}
		h.Expect = true
	case httprule.WebSocketKey:
		if again { // RFC 6455, section 11.3.1
			return bad("a second Sec-WebSocket-Key field")
		}
	case httprule.Upgrade:
		if again {
			return bad("a second Upgrade field")
		}
		h.upgradeTo = f.Value
	}
	return nil
}

// checkCanonical marks a framing field that must be written anew. The field is forwarded unchanged only if usual is set and
// the line is name, colon, one space, value, CRLF. usual means that the value is written as this package writes it.
func (h *Head) checkCanonical(data []byte, f Field, next int, usual bool) {
	if !usual || data[f.Value.Start-1] != ' ' || f.Value.Start != f.Name.End+2 || int(f.Value.End)+2 != next {
		h.rewritten |= httprule.SetOf(f.ID)
	}
}

// takeConnection evaluates the options of a Connection field. RFC 9110, section 7.6.1.
func (h *Head) takeConnection(data []byte, f Field, bad func(string) error) error {
	for at := f.Value; ; {
		option, rest, ok := nextListToken(data, at)
		if !ok {
			return bad("no list of connection options")
		}
		if option.Empty() {
			return nil
		}
		at = rest
		switch name := option.Of(data); {
		case httprule.EqualFold(name, "close"):
			h.options.closes = true
		case httprule.EqualFold(name, "keep-alive"):
			h.options.keepsAlive = true
		case httprule.EqualFold(name, "upgrade"):
			h.options.upgrades = true
		case httprule.EqualFold(name, "te"):
			// The forwarded head has no TE field or a new one.
		case (httprule.Framing | httprule.SetOf(httprule.Host, httprule.Expect)).Has(httprule.FieldID(name)):
			return bad("a Connection option that would drop a field the message cannot do without")
		case h.connectionNamedCount == maxNamed:
			return bad(fmt.Sprintf("more than %d fields named", maxNamed))
		default:
			h.connectionNamed[h.connectionNamedCount] = option
			h.connectionNamedCount++
		}
	}
}

// nextListToken returns the first token of a comma-separated list and the list after that token. At the end of the list the
// token is empty.
func nextListToken(data []byte, list Span) (name, rest Span, ok bool) {
	view := data[:list.End]
	start := int(list.Start)
	for start < len(view) && (view[start] == ',' || view[start] == ' ' || view[start] == '\t') {
		start++
	}
	end := httprule.Past(view, start, httprule.TokenChar)
	next := httprule.PastSpace(view, end)
	if next < len(view) && view[next] != ',' {
		return Span{}, Span{}, false
	}
	return span(start, end), span(next, len(view)), true
}

// finishHead sets the framing and KeepAlive, which depend on the whole head.
func (h *Head) finishHead(l *Limits) error {
	hasLength, chunked := h.seenIDs.Has(httprule.ContentLength), h.seenIDs.Has(httprule.TransferEncoding)
	switch {
	case hasLength && chunked:
		return h.refuse(400, h.fieldsEnd, "both Content-Length and Transfer-Encoding")
	case chunked && h.Minor == 0:
		return h.refuse(400, h.fieldsEnd, "Transfer-Encoding in HTTP/1.0")
	}
	switch {
	case h.response && h.framedByStatus():
	case chunked:
		h.Framing = Chunked
	case hasLength && l.MaxBody > 0 && h.length > l.MaxBody:
		return h.refuse(413, h.fieldsEnd, fmt.Sprintf("a body of %d bytes where %d are allowed", h.length, l.MaxBody))
	case hasLength && h.length > 0:
		h.Framing, h.Length = Length, h.length
	case h.response && !hasLength:
		h.Framing = UntilClose
	}
	h.KeepAlive = h.Framing != UntilClose && !h.options.closes && (h.Minor == 1 || h.options.keepsAlive)
	h.Expect = h.Expect && h.Framing != BodyNone
	h.Upgrade = h.Minor == 1 && h.options.upgrades && !h.upgradeTo.Empty()
	h.phase = atEnd
	return nil
}

package http1

import (
	"bytes"

	"example.com/ferry/protocol/httprule"
)

// ParseRequest parses the head of a request and returns its length in bytes. While the head is incomplete, it returns 0: read
// more bytes, then call it again with the same Head and all bytes of the request. Parsed lines are not parsed again. A head
// that is malformed, ambiguous or beyond limits is an *Error as soon as the wrong line is complete. Nil limits are the
// defaults. One empty line before the request is skipped and counted in the length. RFC 9112, sections 2 to 6.
func ParseRequest(data []byte, h *Head, limits *Limits) (int, error) {
	l := limits.orDefault()
	if !h.startParse(data, false) {
		return h.awaitLine(data, h.pos, l)
	}
	if h.phase == atFirstLine {
		if h.pos == 0 && len(data) >= 2 && data[0] == '\r' && data[1] == '\n' {
			h.pos = 2 // RFC 9112, section 2.2: some clients send CRLF after a body
		}
		next, at, status, reason := h.requestLine(data, h.pos)
		switch {
		case reason != "":
			return h.malformed(data, h.pos, l, status, at, reason)
		case next == 0:
			return h.awaitLine(data, h.pos, l)
		}
		if err := h.checkLength(h.pos, next, l); err != nil {
			return 0, err
		}
		h.line = span(h.pos, next)
		h.pos, h.phase = next, atFields
	}
	n, err := h.parseFields(data, l)
	if n == 0 {
		return 0, err
	}
	if h.Minor == 1 && h.hostField.Empty() {
		return 0, h.refuse(400, h.fieldsEnd, "no Host field")
	}
	if h.Method == MethodConnect && h.seenIDs&httprule.Framing != 0 {
		return 0, h.refuse(400, h.fieldsEnd, "CONNECT with a body")
	}
	if h.Form == Origin || h.Form == Asterisk {
		h.Authority = h.hostField
	}
	if err := h.finishHead(l); err != nil {
		return 0, err
	}
	return n, nil
}

// requestLine parses the line at pos and returns the offset after it. It returns 0 if the line is incomplete. For a malformed
// line it returns the offset of the wrong byte, the status of the response, and the reason. RFC 9112, section 3.
func (h *Head) requestLine(data []byte, pos int) (next, at, status int, reason string) {
	end := httprule.Past(data, pos, httprule.TokenChar)
	if end == len(data) {
		return 0, 0, 0, ""
	}
	if data[end] != ' ' || end == pos {
		return 0, end, 400, "no method followed by one space"
	}
	h.MethodName = span(pos, end)
	h.Method = MethodOf(data[pos:end])

	pos = end + 1
	end = httprule.Past(data, pos, httprule.TargetChar)
	if end == len(data) {
		return 0, 0, 0, ""
	}
	if data[end] != ' ' || end == pos {
		return 0, end, 400, "no target followed by one space"
	}
	if at, reason := h.parseTarget(data, pos, end); reason != "" {
		return 0, at, 400, reason
	}

	pos = end + 1
	if len(data) < pos+10 {
		if bytes.IndexByte(data[pos:], '\n') >= 0 {
			return 0, pos, 400, "no HTTP version followed by CRLF"
		}
		return 0, 0, 0, ""
	}
	minor, ok := parseVersion(data[pos:])
	switch crlf := data[pos+8] == '\r' && data[pos+9] == '\n'; {
	case crlf && ok:
	case crlf && looksLikeVersion(data[pos:]):
		return 0, pos, 505, "an HTTP version other than 1.1 and 1.0"
	default:
		return 0, pos, 400, "no HTTP version followed by CRLF"
	}
	h.Minor = minor
	return pos + 10, 0, 0, ""
}

// parseVersion parses HTTP/1.1 or HTTP/1.0. b must have at least eight bytes.
func parseVersion(b []byte) (minor uint8, ok bool) {
	if string(b[:7]) != "HTTP/1." || b[7] != '0' && b[7] != '1' {
		return 0, false
	}
	return b[7] - '0', true
}

// looksLikeVersion reports whether b begins with HTTP/ and a version such as 2.0.
func looksLikeVersion(b []byte) bool {
	return string(b[:5]) == "HTTP/" && httprule.Is(b[5], httprule.DigitChar) && httprule.Is(b[7], httprule.DigitChar) && b[6] == '.'
}

// MethodOf returns the Method with the name.
func MethodOf(name []byte) Method {
	switch string(name) {
	case "GET":
		return MethodGet
	case "HEAD":
		return MethodHead
	case "POST":
		return MethodPost
	case "PUT":
		return MethodPut
	case "DELETE":
		return MethodDelete
	case "CONNECT":
		return MethodConnect
	case "OPTIONS":
		return MethodOptions
	case "TRACE":
		return MethodTrace
	case "PATCH":
		return MethodPatch
	}
	return MethodOther
}

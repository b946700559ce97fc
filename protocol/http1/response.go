package http1

import (
	"bytes"

	"example.com/ferry/protocol/httprule"
)

// ParseResponse parses the head of a response and returns its length in bytes. While the head is incomplete, it returns 0,
// like ParseRequest. requestMethod is the method of the request, which decides whether the response has a body. Every error
// has status 502. After a response with a status 1xx other than 101, another response to the same request follows. RFC 9112,
// sections 4 and 6.3.
func ParseResponse(data []byte, h *Head, requestMethod Method, limits *Limits) (int, error) {
	l := limits.orDefault()
	if !h.startParse(data, true) {
		return h.awaitLine(data, h.pos, l)
	}
	h.requestMethod = requestMethod
	if h.phase == atFirstLine {
		next, at, reason := h.statusLine(data)
		switch {
		case reason != "":
			return h.malformed(data, 0, l, 502, at, reason)
		case next == 0:
			return h.awaitLine(data, 0, l)
		}
		if err := h.checkLength(0, next, l); err != nil {
			return 0, err
		}
		h.line = span(0, next)
		h.pos, h.phase = next, atFields
	}
	n, err := h.parseFields(data, l)
	if n == 0 {
		return 0, err
	}
	if err := h.finishHead(l); err != nil {
		return 0, err
	}
	return n, nil
}

// statusLine parses the first line and returns the offset after it. It returns 0 if the line is incomplete. For a malformed
// line it returns the offset of the wrong byte and a description. A line without a reason phrase may also lack the space
// before the phrase. RFC 9112, section 4.
func (h *Head) statusLine(data []byte) (next, at int, problem string) {
	const code = len("HTTP/1.1 ")
	const reason = "no status line: HTTP/1.1 or HTTP/1.0, one space, three digits,"
	if len(data) < code+4 {
		if bytes.IndexByte(data, '\n') >= 0 {
			return 0, 0, reason
		}
		return 0, 0, ""
	}
	minor, ok := parseVersion(data)
	end := httprule.Past(data[:code+3], code, httprule.DigitChar)
	if !ok || data[code-1] != ' ' || end != code+3 || data[code] == '0' || data[end] != ' ' && data[end] != '\r' {
		return 0, 0, reason
	}
	h.Minor = minor
	h.Status = int(data[code]-'0')*100 + int(data[code+1]-'0')*10 + int(data[code+2]-'0')
	start := end
	if data[end] == ' ' {
		start++
	}
	end = httprule.PastText(data, start)
	if lineIncomplete(data, end) {
		return 0, 0, ""
	}
	if data[end] != '\r' || data[end+1] != '\n' {
		return 0, end, describeText(data[end])
	}
	h.Reason = span(start, end)
	return end + 2, 0, ""
}

// framedByStatus reports whether the status or the request's method alone decides that no body follows. In that case it sets the
// framing.
func (h *Head) framedByStatus() bool {
	switch {
	case h.Status == 101, h.requestMethod == MethodConnect && h.Status/100 == 2:
		h.Framing = Tunnel
	case h.Status/100 == 1, h.Status == 204, h.Status == 304, h.requestMethod == MethodHead:
	default:
		return false
	}
	return true
}

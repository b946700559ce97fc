package http1

import "bytes"

// ParseResponse parses the head of a response and returns its length in bytes, or 0 while it is not whole: see ParseRequest.
// asked is the method of the request it answers, which decides about its body. Every error has status 502. A status of 1xx
// but 101 is followed by another response to the same request. RFC 9112, sections 4 and 6.3.
func ParseResponse(data []byte, h *Head, asked Method, limits *Limits) (int, error) {
	l := limits.orDefault()
	if !h.begin(data, true) {
		return h.wait(data, h.pos, l)
	}
	h.asked = asked
	if h.phase == atStart {
		next, at, reason := h.statusLine(data)
		switch {
		case reason != "":
			return h.malformed(data, 0, l, 502, at, reason)
		case next == 0:
			return h.wait(data, 0, l)
		}
		if err := h.bound(0, next, l); err != nil {
			return 0, err
		}
		h.line = span(0, next)
		h.pos, h.phase = next, atFields
	}
	n, err := h.parseFields(data, l)
	if n == 0 {
		return 0, err
	}
	if err := h.close(l); err != nil {
		return 0, err
	}
	return n, nil
}

// statusLine parses the first line and returns the offset behind it, or 0 if the line has no end yet; or what is wrong and
// where. The space before an absent reason may be absent too. RFC 9112, section 4.
func (h *Head) statusLine(data []byte) (next, at int, problem string) {
	const code = len("HTTP/1.1 ")
	const reason = "no status line: HTTP/1.1 or HTTP/1.0, one space, three digits,"
	if len(data) < code+4 {
		if bytes.IndexByte(data, '\n') >= 0 {
			return 0, 0, reason
		}
		return 0, 0, ""
	}
	minor, ok := version(data)
	end := skip(data[:code+3], code, isDigit)
	if !ok || data[code-1] != ' ' || end != code+3 || data[code] == '0' || data[end] != ' ' && data[end] != '\r' {
		return 0, 0, reason
	}
	h.Minor = minor
	h.Status = int(data[code]-'0')*100 + int(data[code+1]-'0')*10 + int(data[code+2]-'0')
	start := end
	if data[end] == ' ' {
		start++
	}
	end = skipText(data, start)
	if unended(data, end) {
		return 0, 0, ""
	}
	if data[end] != '\r' || data[end+1] != '\n' {
		return 0, end, badText(data[end])
	}
	h.Reason = span(start, end)
	return end + 2, 0, ""
}

// bodyless decides about responses whose fields say nothing of their body, and reports whether this is one.
func (h *Head) bodyless() bool {
	switch {
	case h.Status == 101, h.asked == MethodConnect && h.Status/100 == 2:
		h.Framing = Tunnel
	case h.Status/100 == 1, h.Status == 204, h.Status == 304, h.asked == MethodHead:
	default:
		return false
	}
	return true
}

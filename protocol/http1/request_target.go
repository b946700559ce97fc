package http1

import (
	"bytes"
	"net/netip"
)

// parseTarget parses the request target in data[start:end], which consists of visible characters. For a malformed target it
// returns a reason and the offset of the wrong byte. RFC 9112, section 3.2.
func (h *Head) parseTarget(data []byte, start, end int) (at int, reason string) {
	h.Target = span(start, end)
	switch {
	case h.Method == MethodConnect:
		h.Form, h.Authority = Authority, h.Target
		if !validHost(data[start:end], true) {
			return start, "CONNECT to what is not host:port"
		}
		return 0, ""
	case data[start] == '/':
		h.Form = Origin
		return h.pathAndQuery(data, start, end)
	case end == start+1 && data[start] == '*' && h.Method == MethodOptions:
		h.Form = Asterisk
		return 0, ""
	}
	h.Form = Absolute
	authority := 0
	for _, scheme := range []string{"http://", "https://"} {
		if n := len(scheme); end-start > n && bytes.EqualFold(data[start:start+n], []byte(scheme)) {
			authority = start + n
		}
	}
	if authority == 0 {
		return start, "a target that is neither a path nor an http or https URI"
	}
	path := end
	if i := bytes.IndexAny(data[authority:end], "/?"); i >= 0 {
		path = authority + i
	}
	if !validHost(data[authority:path], false) {
		return authority, "no host name, with or without a port,"
	}
	h.Authority = span(authority, path)
	return h.pathAndQuery(data, path, end)
}

// pathAndQuery parses a path, which may be empty, and the query after the question mark.
func (h *Head) pathAndQuery(data []byte, start, end int) (at int, reason string) {
	h.Path, h.Query = span(start, end), span(end, end)
	if i := bytes.IndexByte(data[start:end], '?'); i >= 0 {
		h.Path, h.Query = span(start, start+i), span(start+i+1, end)
	}
	path := data[start:h.Path.End]
	for i := 0; ; i += 3 {
		n := bytes.IndexByte(path[i:], '%')
		if n < 0 {
			return 0, ""
		}
		i += n
		if i+2 >= len(path) || chars[path[i+1]]&chars[path[i+2]]&isHex == 0 {
			return start + i, "a percent sign without two hexadecimal digits in a path"
		}
	}
}

// validHost reports whether b is a DNS name, an IPv4 address, or an IPv6 address in brackets. A port from 0 to 65535 may
// follow. If needPort is set, a port must follow.
func validHost(b []byte, needPort bool) bool {
	end := skip(b, 0, isHost)
	if len(b) > 0 && b[0] == '[' {
		closing := bytes.IndexByte(b, ']')
		if closing < 0 {
			return false
		}
		addr, err := netip.ParseAddr(string(b[1:closing]))
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			return false
		}
		end = closing + 1
	}
	if end == 0 {
		return false
	}
	if end == len(b) {
		return !needPort
	}
	digits := b[end+1:]
	if b[end] != ':' || len(digits) == 0 || len(digits) > 5 {
		return false
	}
	port, ok := parseLength(digits)
	return ok && port <= 65535
}

package http1

import (
	"bytes"

	"example.com/ferry/protocol/httprule"
)

// parseTarget parses the request target in data[start:end], which consists of visible characters. For a malformed target it
// returns a reason and the offset of the wrong byte. RFC 9112, section 3.2.
func (h *Head) parseTarget(data []byte, start, end int) (at int, reason string) {
	h.Target = span(start, end)
	switch {
	case h.Method == MethodConnect:
		h.Form, h.Authority = Authority, h.Target
		if !httprule.ValidHost(data[start:end], true) {
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
	if !httprule.ValidHost(data[authority:path], false) {
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
	if at := httprule.BadEscape(data[start:h.Path.End]); at >= 0 {
		return start + at, "a percent sign without two hexadecimal digits in a path"
	}
	return 0, ""
}

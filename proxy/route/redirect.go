package route

import "strconv"

// AppendLocation appends the Location of the route's Redirect for req (RFC 9110, section 10.2.2). The Location is
// relative if neither scheme, host nor port changes.
func (r *Route) AppendLocation(dst []byte, req *Request) []byte {
	c := r.Redirect
	if c.Scheme != "" {
		dst = append(append(dst, c.Scheme...), ':')
	}
	takesHost := c.TakesHost()
	absolute := takesHost || c.Host != ""
	switch {
	case takesHost:
		dst = append(append(dst, "//"...), trimPort(req.Host)...)
	case absolute:
		dst = append(append(dst, "//"...), c.Host...)
	}
	if c.Port != 0 {
		dst = strconv.AppendInt(append(dst, ':'), int64(c.Port), 10)
	}
	with, rest := c.Path, req.Path
	switch {
	case c.Path != "":
		rest = nil
	case c.Prefix != "":
		with, rest = c.Prefix, req.Path[r.replacedLen(req.Path, c.Prefix):]
	}
	if !absolute && looksLikeHost(with, rest) {
		dst = append(dst, "/."...) // the same path, but a browser cannot parse it as //host
	}
	dst = append(append(dst, with...), rest...)
	if len(req.Query) > 0 && !c.StripQuery {
		dst = append(append(dst, '?'), req.Query...)
	}
	return dst
}

// TakesHost reports whether the Location has the host of the request, which must then have one.
func (c *Redirect) TakesHost() bool { return c.Host == "" && (c.Scheme != "" || c.Port != 0) }

// looksLikeHost reports whether with followed by rest begins with two slashes. A browser would treat the following
// text as a host, and the client could choose that host. Browsers treat a backslash as a slash.
func looksLikeHost(with string, rest []byte) bool {
	at := func(i int) byte {
		switch {
		case i < len(with):
			return with[i]
		case i-len(with) < len(rest):
			return rest[i-len(with)]
		}
		return 0
	}
	return at(0) == '/' && (at(1) == '/' || at(1) == '\\')
}

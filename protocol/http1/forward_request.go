package http1

import (
	"fmt"
	"strings"

	"example.com/ferry/protocol/httprule"
)

// RequestEdit says how a request's head changes before the proxy forwards it to a server. The zero value only removes the
// fields that are meant for the client's connection.
type RequestEdit struct {
	Host           string // replaces the request's host; empty keeps the host
	Strip          int    // bytes at the start of the path that Prefix replaces; their number is the length of the route's prefix
	Prefix         string
	ForwardedFor   string // the client's address for X-Forwarded-For; empty adds none
	NoForwardedFor bool   // removes the client's X-Forwarded-For, also if ForwardedFor is empty; KeepForwarded has precedence
	Proto          string // http or https for X-Forwarded-Proto; empty does not change that field
	KeepForwarded  bool   // the client is a trusted proxy: addresses are appended to its X-Forwarded fields, which are not replaced
	ClientCert     string // element for X-Forwarded-Client-Cert; empty adds none
	NoClientCert   bool   // removes the client's X-Forwarded-Client-Cert
	MaxForwards    string // replaces Max-Forwards; empty keeps it
	Via            string // this proxy's name for Via; empty adds no Via
	Fields         *Edits
	Upgrade        bool // forward Upgrade, because the connection may become a tunnel
	NoExpect       bool // remove Expect, because the proxy has sent 100 Continue
}

// Validate returns an error for an edit that cannot be encoded.
func (e *RequestEdit) Validate() error {
	switch {
	case e.Host != "" && !httprule.ValidHost([]byte(e.Host), false):
		return fmt.Errorf("http1: host %q: write a name or address, with or without :port", e.Host)
	case e.Strip < 0:
		return fmt.Errorf("http1: strip %d: write how many bytes of the path the prefix replaces", e.Strip)
	case e.Prefix != "" && !validPath(e.Prefix):
		return fmt.Errorf("http1: prefix %q: write a path that begins with a slash, without ? and with other characters than visible ones escaped", e.Prefix)
	case e.Proto != "" && e.Proto != "http" && e.Proto != "https":
		return fmt.Errorf("http1: forwarded protocol %q: write http or https", e.Proto)
	case !validText(e.ClientCert):
		return fmt.Errorf("http1: client certificate %q: control characters cannot be sent", e.ClientCert)
	case !validText(e.ForwardedFor):
		return fmt.Errorf("http1: forwarded for %q: write an address", e.ForwardedFor)
	}
	return validVia(e.Via)
}

func validPath(s string) bool {
	var h Head
	b := []byte(s)
	_, reason := h.pathAndQuery(b, 0, len(b))
	return b[0] == '/' && reason == "" && httprule.Past(b, 0, httprule.TargetChar) == len(b) && int(h.Path.End) == len(b)
}

func validText(s string) bool { return httprule.PastText([]byte(s), 0) == len(s) }

func validVia(name string) error {
	if httprule.Past([]byte(name), 0, httprule.HostChar) != len(name) {
		return fmt.Errorf("http1: via %q: write a name of letters, digits, dots and hyphens", name)
	}
	return nil
}

var noRequestEdit RequestEdit

// AppendRequest appends the head of a request for a server. h was parsed from data. The result is HTTP/1.1 with one framing
// field at most. Its target is in origin form, and a host in the request's target replaces the Host field (RFC 9112, section
// 3.2.2). The fields that are meant for the client's connection are removed. A nil edit is the zero value. Unchanged parts are
// copied in as few pieces as possible.
func AppendRequest(dst, data []byte, h *Head, e *RequestEdit) []byte {
	if e == nil {
		e = &noRequestEdit
	}
	drop := httprule.HopByHop | h.rewritten
	if e.MaxForwards != "" {
		drop |= httprule.SetOf(httprule.MaxForwards)
	}
	if e.Host != "" || h.Form == Absolute || h.Form == Authority {
		drop |= httprule.SetOf(httprule.Host)
	}
	if e.NoExpect || h.Minor == 0 {
		drop |= httprule.SetOf(httprule.Expect)
	}
	if e.ForwardedFor != "" || e.NoForwardedFor && !e.KeepForwarded {
		drop |= httprule.SetOf(httprule.XForwardedFor)
	}
	keepProto := e.KeepForwarded && h.seenIDs.Has(httprule.XForwardedProto)
	if e.Proto != "" && !keepProto {
		drop |= httprule.SetOf(httprule.XForwardedProto)
	}
	if e.ClientCert != "" || e.NoClientCert {
		drop |= httprule.SetOf(httprule.XForwardedClientCert)
	}
	upgrade := e.Upgrade && h.Upgrade

	from := h.line.Start
	if h.Minor == 0 || h.Form == Absolute || e.Strip != 0 || e.Prefix != "" {
		dst = appendRequestLine(dst, data, h, e)
		from = h.line.End
	}
	if drop.Has(httprule.Host) || !h.seenIDs.Has(httprule.Host) {
		dst = append(dst, data[from:h.line.End]...)
		from = h.line.End
		dst = append(dst, "Host: "...)
		if e.Host != "" {
			dst = append(dst, e.Host...)
		} else {
			dst = append(dst, h.Authority.Of(data)...)
		}
		dst = append(dst, "\r\n"...)
	}
	dst = h.appendFields(dst, data, int(from), drop, e.Fields)
	dst = h.appendFraming(dst)
	if e.MaxForwards != "" {
		dst = appendField(dst, "Max-Forwards", e.MaxForwards)
	}
	if e.ForwardedFor != "" {
		dst = append(dst, "X-Forwarded-For: "...)
		if e.KeepForwarded {
			dst = h.appendValues(dst, data, httprule.XForwardedFor, e.Fields)
		}
		dst = append(append(dst, e.ForwardedFor...), "\r\n"...)
	}
	if e.ClientCert != "" {
		dst = append(dst, "X-Forwarded-Client-Cert: "...)
		if !e.NoClientCert {
			dst = h.appendValues(dst, data, httprule.XForwardedClientCert, e.Fields)
		}
		dst = append(append(dst, e.ClientCert...), "\r\n"...)
	}
	if e.Proto != "" && !keepProto {
		dst = appendField(dst, "X-Forwarded-Proto", e.Proto)
	}
	dst = h.appendVia(dst, e.Via)
	switch {
	case upgrade:
		dst = h.appendUpgrade(dst, data)
	case h.options.trailers:
		dst = append(dst, "Connection: TE\r\nTE: trailers\r\n"...)
	}
	return append(dst, "\r\n"...)
}

// appendRequestLine appends a new request line.
func appendRequestLine(dst, data []byte, h *Head, e *RequestEdit) []byte {
	dst = append(dst, h.MethodName.Of(data)...)
	dst = append(dst, ' ')
	path, hasQuery := h.Path.Of(data), h.Query.Start > h.Path.End
	switch {
	case h.Form == Asterisk || h.Form == Authority:
		dst = append(dst, h.Target.Of(data)...)
	case len(path) == 0 && h.Method == MethodOptions && !hasQuery && e.Prefix == "":
		dst = append(dst, '*') // RFC 9112, section 3.2.4: OPTIONS without a path has the target *
	default:
		dst = AppendPath(dst, path, e.Strip, e.Prefix)
		if hasQuery {
			dst = append(dst, '?')
			dst = append(dst, h.Query.Of(data)...)
		}
	}
	return append(dst, " HTTP/1.1\r\n"...)
}

// AppendPath appends path with prefix instead of its first strip bytes. The result begins with exactly one slash.
func AppendPath(dst, path []byte, strip int, prefix string) []byte {
	path = path[min(max(strip, 0), len(path)):]
	if len(path) > 0 && path[0] == '/' {
		prefix = strings.TrimSuffix(prefix, "/")
	} else if !strings.HasSuffix(prefix, "/") && (prefix == "" || len(path) > 0) {
		prefix += "/"
	}
	dst = append(dst, prefix...)
	return append(dst, path...)
}

// appendValues appends the values of the fields with that ID which are forwarded, each followed by a comma.
func (h *Head) appendValues(dst, data []byte, id httprule.ID, e *Edits) []byte {
	if !h.seenIDs.Has(id) {
		return dst
	}
	for i := range h.Fields {
		f := &h.Fields[i]
		if f.ID == id && !f.Value.Empty() && !h.namedByConnection(data, f) && !e.Removes(f.Name.Of(data)) {
			dst = append(append(dst, f.Value.Of(data)...), ", "...)
		}
	}
	return dst
}

// appendFields copies data from offset from to the end of the fields, without the lines of dropped fields. It then appends the
// fields of the edits.
func (h *Head) appendFields(dst, data []byte, from int, drop httprule.IDSet, e *Edits) []byte {
	if h.seenIDs&drop != 0 || h.connectionNamedCount > 0 || e != nil && e.dropLengths != 0 {
		for i := range h.Fields {
			f := &h.Fields[i]
			if !drop.Has(f.ID) && !h.namedByConnection(data, f) && !e.Removes(f.Name.Of(data)) {
				continue
			}
			dst = append(dst, data[from:f.Name.Start]...)
			from = h.fieldsEnd
			if i+1 < len(h.Fields) {
				from = int(h.Fields[i+1].Name.Start)
			}
		}
	}
	dst = append(dst, data[from:h.fieldsEnd]...)
	if e != nil {
		dst = append(dst, e.writtenLines...)
	}
	return dst
}

// namedByConnection reports whether the Connection field names f. Such a field is not forwarded.
func (h *Head) namedByConnection(data []byte, f *Field) bool {
	for _, s := range h.connectionNamed[:h.connectionNamedCount] {
		if httprule.EqualFoldTokens(s.Of(data), f.Name.Of(data)) {
			return true
		}
	}
	return false
}

// appendFraming appends a new framing field, if the field of the message is not forwarded unchanged.
func (h *Head) appendFraming(dst []byte) []byte {
	if h.rewritten == 0 {
		return dst
	}
	if h.rewritten.Has(httprule.TransferEncoding) {
		return append(dst, "Transfer-Encoding: chunked\r\n"...)
	}
	return appendLength(dst, h.length)
}

func (h *Head) appendVia(dst []byte, name string) []byte {
	if name == "" {
		return dst
	}
	dst = append(dst, "Via: 1."...)
	dst = append(dst, '0'+h.Minor, ' ')
	dst = append(dst, name...)
	return append(dst, "\r\n"...)
}

func (h *Head) appendUpgrade(dst, data []byte) []byte {
	dst = append(dst, "Connection: upgrade\r\nUpgrade: "...)
	dst = append(dst, h.upgradeTo.Of(data)...)
	return append(dst, "\r\n"...)
}

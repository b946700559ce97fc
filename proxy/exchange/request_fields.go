package exchange

import (
	"example.com/ferry/protocol/httprule"
)

// RequestFields decides which fields of a client's request a server gets, and has those that the proxy writes itself. Every encoding of a head uses it
// that does not copy the head of an HTTP/1.1 client as it is. A loop reuses one for all requests.
type RequestFields struct {
	changes      *Changes
	forwardedFor []byte // values of X-Forwarded-For that stay, each followed by a comma
	clientCert   []byte // values of X-Forwarded-Client-Cert that stay, each followed by a comma
	proto        bool   // the client's X-Forwarded-Proto stays
}

// Begin begins a request that c changes.
func (f *RequestFields) Begin(c *Changes) {
	f.changes, f.forwardedFor, f.clientCert, f.proto = c, f.forwardedFor[:0], f.clientCert[:0], false
}

// notCopied are the fields of a client that never pass as they are: those of its connection, and those that each encoding writes itself.
var notCopied = httprule.HopByHop | httprule.Framing | httprule.SetOf(httprule.Host, httprule.Expect)

// Passes reports whether the server gets a field of the client as it is. It is called once for each field of the head.
func (f *RequestFields) Passes(name, value []byte) bool {
	c := f.changes
	id := httprule.FieldID(name)
	if notCopied.Has(id) || c.Fields.Removes(name) {
		return false
	}
	switch id {
	case httprule.XForwardedFor:
		if c.ForwardedFor != "" && c.KeepForwarded && len(value) > 0 {
			f.forwardedFor = append(append(f.forwardedFor, value...), ", "...)
		}
		return c.ForwardedFor == "" && !c.NoForwardedFor
	case httprule.XForwardedClientCert:
		if c.ClientCert != "" && !c.NoClientCert && len(value) > 0 {
			f.clientCert = append(append(f.clientCert, value...), ", "...)
		}
		return c.ClientCert == "" && !c.NoClientCert
	case httprule.XForwardedProto:
		f.proto = c.KeepForwarded
		return c.Proto == "" || c.KeepForwarded
	case httprule.MaxForwards:
		return c.MaxForwards == ""
	case httprule.WebSocketKey, httprule.WebSocketAccept:
		return !c.Upgrade // each side makes a handshake of its own; RFC 8441, section 5
	}
	return true
}

// Written calls yield for each field that the proxy writes. Passes was called for all fields of the client. name is in lower case, or as the
// configuration has it.
func (f *RequestFields) Written(yield func(name, value string)) {
	c := f.changes
	for _, pair := range c.Fields.Written() {
		yield(pair.Name, pair.Value)
	}
	if c.MaxForwards != "" {
		yield("max-forwards", c.MaxForwards)
	}
	if c.ForwardedFor != "" {
		yield("x-forwarded-for", f.joined(f.forwardedFor, c.ForwardedFor))
	}
	if c.ClientCert != "" {
		yield("x-forwarded-client-cert", f.joined(f.clientCert, c.ClientCert))
	}
	if c.Proto != "" && !f.proto {
		yield("x-forwarded-proto", c.Proto)
	}
}

func (f *RequestFields) joined(kept []byte, own string) string {
	if len(kept) == 0 {
		return own
	}
	return string(kept) + own
}

// Size returns the size of the head of a request that has h and the changes c, as a server of HTTP/2 bounds it: the bytes of names and values, and 32
// for each field. RFC 9113, section 6.5.2.
func (f *RequestFields) Size(h RequestHead, c *Changes) int {
	const each = 32
	f.Begin(c)
	path, host := len(h.Path()), len(h.Authority())
	if c.Host != "" {
		host = len(c.Host)
	}
	query, _ := h.Query()
	n := len(":method") + len(h.Method()) + len(":scheme") + len("https") + len(":authority") + host + len(":path") + len("/?") +
		max(path-c.Strip, 0) + len(c.Prefix) + len(query) + 4*each
	if c.Upgrade {
		n += len(":protocol") + len(h.UpgradeTo()) + each
	}
	if h.ContentLength() >= 0 {
		n += len("content-length") + 20 + each
	}
	if h.ExpectsContinue() {
		n += len("expect") + len("100-continue") + each
	}
	if h.Get("te") != nil {
		n += len("te") + len("trailers") + each
	}
	if c.Via != "" {
		n += len("via") + len("1.1 ") + len(c.Via) + each
	}
	for name, value := range h.All {
		if f.Passes(name, value) {
			n += len(name) + len(value) + each
		}
	}
	f.Written(func(name, value string) { n += len(name) + len(value) + each })
	f.changes = nil
	return n
}

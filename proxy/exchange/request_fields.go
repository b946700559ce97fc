package exchange

import (
	"net/http"

	"example.com/ferry/protocol/http1"
	"example.com/ferry/protocol/httprule"
	"example.com/ferry/proxy/traffic"
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

// AppendTarget appends the path and the query of a request as they go to the server.
func (r *Relay) AppendTarget(b []byte, h RequestHead) []byte {
	c := &r.Changes
	query, hasQuery := h.Query()
	if len(h.Path()) == 0 && !hasQuery && c.Prefix == "" && !c.Upgrade && string(h.Method()) == http.MethodOptions {
		return append(b, '*') // RFC 9112, section 3.2.4. A tunnel is CONNECT in HTTP/2, which has a path
	}
	b = http1.AppendPath(b, h.Path(), c.Strip, c.Prefix)
	if hasQuery {
		b = append(append(b, '?'), query...)
	}
	return b
}

// AppendAuthority appends the host of a request as it goes to the server: many refuse a request without one.
func (r *Relay) AppendAuthority(b []byte, h RequestHead) []byte {
	switch {
	case r.Changes.Host != "":
		return append(b, r.Changes.Host...)
	case len(h.Authority()) > 0:
		return append(b, h.Authority()...)
	}
	return append(b, r.Endpoint.Authority()...)
}

// headSize is the size of a request's head as servers of HTTP/2 bound it. It is computed when an Upstream asks for it.
type headSize struct {
	size    int  // 0 until it is computed
	refused bool // Connector.Open has refused the head
}

// smallHead is a number of received bytes below which a head is small, whatever its fields are: 32 are added for each of them.
const smallHead = 512

// HeadSize returns the size of the request's head, RFC 9113, section 6.5.2; 0 if it is small. It is computed in the first attempt, or not at all.
func (r *Relay) HeadSize(f *RequestFields) int {
	if r.size.size == 0 && r.head != nil && r.In >= smallHead {
		r.size.size = f.Size(r.head, &r.Changes)
	}
	return r.size.size
}

// RefuseHead is called by a Connector that returns no Upstream because the server would not accept a head of that size.
func (r *Relay) RefuseHead() { r.size.refused = true }

// HeadTooLarge is called by an Upstream that waits, when it turns out that the server would not accept the head. The Upstream must not use the Relay
// afterwards.
func (r *Relay) HeadTooLarge() {
	r.up, r.attempt = nil, noAttempt
	r.Refuse(traffic.BadRequest)
	r.reject(HeadTooLarge)
}

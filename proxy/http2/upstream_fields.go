package http2

import (
	"bytes"

	"example.com/ferry/proxy/exchange"

	http1 "example.com/ferry/protocol/http1"
	wire "example.com/ferry/protocol/http2"
)

// requestFields writes the fields of requests. Its function is made once: one that is made for a call through an
// interface is allocated.
type requestFields struct {
	encoder      *wire.Encoder
	changes      *exchange.Changes
	tunnel       bool
	forwardedFor []byte // values of X-Forwarded-For that stay, each followed by a comma
	clientCert   []byte // values of X-Forwarded-Client-Cert that stay, each followed by a comma
	each         func(name, value []byte) bool
}

func (f *requestFields) init() {
	f.each = func(name, value []byte) bool {
		if !f.drops(name, value) {
			f.encoder.Field(name, value)
		}
		return true
	}
}

// drops reports whether the client's field is not forwarded.
func (f *requestFields) drops(name, value []byte) bool {
	return f.changes.Fields.Removes(name) || f.isForwarded(name, value) || f.tunnel && isHandshakeField(name)
}

// isForwarded reports whether the field is one that writeForwarded writes.
func (f *requestFields) isForwarded(name, value []byte) bool {
	switch c := f.changes; http1.FieldID(name) {
	case http1.XForwardedFor:
		if c.ForwardedFor != "" && c.KeepForwarded {
			f.forwardedFor = append(append(f.forwardedFor, value...), ", "...)
		}
		return c.ForwardedFor != "" || c.NoForwardedFor
	case http1.XForwardedClientCert:
		if c.ClientCert != "" && !c.NoClientCert {
			f.clientCert = append(append(f.clientCert, value...), ", "...)
		}
		return c.ClientCert != "" || c.NoClientCert
	case http1.XForwardedProto:
		return c.Proto != "" && !c.KeepForwarded
	}
	return false
}

// write writes the fields of h, changed by c.
func (f *requestFields) write(e *wire.Encoder, h exchange.RequestHead, c *exchange.Changes, tunnel bool) {
	f.encoder, f.changes, f.tunnel, f.forwardedFor, f.clientCert = e, c, tunnel, f.forwardedFor[:0], f.clientCert[:0]
	if same, ok := h.(*requestHead); ok {
		for i := range same.Len() {
			if name, value := same.Field(i); !isRequestPart(name) && !f.drops(name, value) {
				e.HeadField(same.Head, i) // a field that no table may index stays so
			}
		}
	} else {
		h.All(f.each)
	}
	f.encoder, f.changes = nil, nil
	for _, pair := range c.Fields.Written() {
		e.FieldString(pair.Name, pair.Value)
	}
	if c.ForwardedFor != "" {
		f.forwardedFor = append(f.forwardedFor, c.ForwardedFor...)
		e.Field(forwardedForName, f.forwardedFor)
	}
	if c.ClientCert != "" {
		f.clientCert = append(f.clientCert, c.ClientCert...)
		e.Field(clientCertName, f.clientCert)
	}
	if c.Proto != "" && (!c.KeepForwarded || h.Get("x-forwarded-proto") == nil) {
		e.FieldString("x-forwarded-proto", c.Proto)
	}
}

// isHandshakeField reports whether a field belongs to the handshake of a WebSocket over HTTP/1.1, which extended CONNECT
// replaces. RFC 8441, section 5.
func isHandshakeField(name []byte) bool {
	return bytes.EqualFold(name, webSocketKey) || bytes.EqualFold(name, webSocketAccept)
}

// acceptsTrailers reports whether a TE field lists trailers. HTTP/2 allows no other value. RFC 9113, section 8.2.2.
func acceptsTrailers(te []byte) bool {
	for len(te) > 0 {
		var token []byte
		token, te, _ = bytes.Cut(te, comma)
		if bytes.EqualFold(bytes.TrimSpace(token), trailersToken) {
			return true
		}
	}
	return false
}

var (
	forwardedForName = []byte("x-forwarded-for")
	clientCertName   = []byte("x-forwarded-client-cert")
	webSocketKey     = []byte("sec-websocket-key")
	webSocketAccept  = []byte("sec-websocket-accept")
	trailersToken    = []byte("trailers")
	comma            = []byte(",")
)

package http1

import (
	"bytes"
	"strconv"

	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"

	wire "example.com/ferry/protocol/http1"
)

// neutralFields appends the fields of a head that came in another protocol. Its function is made once: one that is made for
// a call through an interface is allocated.
type neutralFields struct {
	b            []byte
	edits        *route.FieldEdits
	changes      *exchange.Changes // nil for a response
	forwardedFor []byte            // values of X-Forwarded-For that stay, each followed by a comma
	clientCert   []byte            // values of X-Forwarded-Client-Cert that stay, each followed by a comma
	each         func(name, value []byte) bool
}

func (f *neutralFields) init() {
	f.each = func(name, value []byte) bool {
		if !f.edits.Removes(name) && !f.isOwn(name, value) {
			f.b = appendField(f.b, name, value)
		}
		return true
	}
}

// isOwn reports whether the field is one that the proxy writes itself.
func (f *neutralFields) isOwn(name, value []byte) bool {
	if f.changes == nil {
		return false
	}
	c := f.changes
	if c.Upgrade && bytes.EqualFold(name, keyField) {
		return true // appendUpgrade makes a key
	}
	switch wire.FieldID(name) {
	case wire.XForwardedFor:
		if c.ForwardedFor != "" && c.KeepForwarded {
			f.forwardedFor = append(append(f.forwardedFor, value...), ", "...)
		}
		return c.ForwardedFor != "" || c.NoForwardedFor
	case wire.XForwardedClientCert:
		if c.ClientCert != "" && !c.NoClientCert {
			f.clientCert = append(append(f.clientCert, value...), ", "...)
		}
		return c.ClientCert != "" || c.NoClientCert
	case wire.XForwardedProto:
		return c.Proto != "" && !c.KeepForwarded
	}
	return false
}

// append appends the fields of h and those that edits adds. c is nil for a response.
func (f *neutralFields) append(b []byte, h exchange.Fields, edits *route.FieldEdits, c *exchange.Changes) []byte {
	f.b, f.edits, f.changes, f.forwardedFor, f.clientCert = b, edits, c, f.forwardedFor[:0], f.clientCert[:0]
	h.All(f.each)
	b = f.b
	f.b, f.edits, f.changes = nil, nil, nil
	return b
}

// appendForwarded appends the X-Forwarded fields. append was called for the same head.
func (f *neutralFields) appendForwarded(b []byte, h exchange.Fields, c *exchange.Changes) []byte {
	if c.ForwardedFor != "" {
		b = append(append(b, "X-Forwarded-For: "...), f.forwardedFor...)
		b = append(append(b, c.ForwardedFor...), "\r\n"...)
	}
	if c.ClientCert != "" {
		b = append(append(b, "X-Forwarded-Client-Cert: "...), f.clientCert...)
		b = append(append(b, c.ClientCert...), "\r\n"...)
	}
	if c.Proto != "" && (!c.KeepForwarded || h.Get("X-Forwarded-Proto") == nil) {
		b = appendField(b, "X-Forwarded-Proto", c.Proto)
	}
	return b
}

// appendNeutralVia appends the Via field of a message that came in HTTP/2 (RFC 9110, section 7.6.3).
func appendNeutralVia(b []byte, name string) []byte {
	if name == "" {
		return b
	}
	b = append(append(b, "Via: 2 "...), name...)
	return append(b, "\r\n"...)
}

func appendContentLength(b []byte, n int64) []byte {
	b = strconv.AppendInt(append(b, "Content-Length: "...), n, 10)
	return append(b, "\r\n"...)
}

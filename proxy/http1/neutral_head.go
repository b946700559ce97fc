package http1

import (
	"strconv"

	"example.com/ferry/protocol/httprule"
	"example.com/ferry/proxy/exchange"

	wire "example.com/ferry/protocol/http1"
)

// neutralFields appends the fields of a head that came in another protocol. Its functions are made once: one that is made for
// a call through an interface is allocated.
type neutralFields struct {
	b        []byte
	request  exchange.RequestFields
	edits    *wire.Edits // of a response
	each     func(name, value []byte) bool
	written  func(name, value string)
	response func(name, value []byte) bool
	trailer  func(name, value []byte) bool
}

func (f *neutralFields) init() {
	f.each = func(name, value []byte) bool {
		if f.request.Passes(name, value) {
			f.b = appendField(f.b, name, value)
		}
		return true
	}
	f.written = func(name, value string) { f.b = appendField(f.b, name, value) }
	f.response = func(name, value []byte) bool {
		if httprule.InResponse(name) && !f.edits.Removes(name) {
			f.b = appendField(f.b, name, value)
		}
		return true
	}
	f.trailer = func(name, value []byte) bool {
		if httprule.InTrailers(name) {
			f.b = appendField(f.b, name, value)
		}
		return true
	}
}

// appendRequest appends the fields of h as c changes them.
func (f *neutralFields) appendRequest(b []byte, h exchange.Fields, c *exchange.Changes) []byte {
	f.b = b
	f.request.Begin(c)
	h.All(f.each)
	f.request.Written(f.written)
	return f.take()
}

// appendResponse appends the fields of h but those that edits removes.
func (f *neutralFields) appendResponse(b []byte, h exchange.Fields, edits *wire.Edits) []byte {
	f.b, f.edits = b, edits
	h.All(f.response)
	f.edits = nil
	return f.take()
}

// appendTrailers appends the fields that trailers may have. h may be nil.
func (f *neutralFields) appendTrailers(b []byte, h exchange.Fields) []byte {
	f.b = b
	if h != nil {
		h.All(f.trailer)
	}
	return f.take()
}

func (f *neutralFields) take() []byte {
	b := f.b
	f.b = nil
	return b
}

// appendNeutralVia appends the Via field of a message that came in a version of HTTP (RFC 9110, section 7.6.3).
func appendNeutralVia(b []byte, version, name string) []byte {
	if name == "" {
		return b
	}
	b = append(append(append(append(b, "Via: "...), version...), ' '), name...)
	return append(b, "\r\n"...)
}

func appendContentLength(b []byte, n int64) []byte {
	b = strconv.AppendInt(append(b, "Content-Length: "...), n, 10)
	return append(b, "\r\n"...)
}

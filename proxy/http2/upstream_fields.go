package http2

import (
	"bytes"

	"example.com/ferry/protocol/httprule"
	"example.com/ferry/proxy/exchange"

	wire "example.com/ferry/protocol/http2"
)

// requestFields writes the fields of requests. Its functions are made once: one that is made for a call through an
// interface is allocated.
type requestFields struct {
	encoder *wire.Encoder
	request exchange.RequestFields
	each    func(name, value []byte) bool
	written func(name, value string)
	trailer func(name, value []byte) bool
}

func (f *requestFields) init() {
	f.each = func(name, value []byte) bool {
		if f.request.Passes(name, value) {
			f.encoder.Field(name, value)
		}
		return true
	}
	f.written = func(name, value string) { f.encoder.FieldString(name, value) }
	f.trailer = func(name, value []byte) bool {
		if httprule.InTrailers(name) {
			f.encoder.Field(name, value)
		}
		return true
	}
}

// write writes the fields of h, changed by c.
func (f *requestFields) write(e *wire.Encoder, h exchange.RequestHead, c *exchange.Changes) {
	f.encoder = e
	f.request.Begin(c)
	if same, ok := h.(*requestHead); ok {
		for i := range same.Len() {
			if name, value := same.Field(i); f.request.Passes(name, value) {
				e.HeadField(same.Head, i) // a field that no table may index stays so
			}
		}
	} else {
		h.All(f.each)
	}
	f.request.Written(f.written)
	f.encoder = nil
}

// writeTrailers writes the fields that trailers may have.
func (f *requestFields) writeTrailers(e *wire.Encoder, trailers exchange.Fields) {
	if h := trailersHead(trailers); h != nil {
		for i := range h.Len() {
			if name, _ := h.Field(i); httprule.InTrailers(name) {
				e.HeadField(h, i)
			}
		}
		return
	}
	f.encoder = e
	trailers.All(f.trailer)
	f.encoder = nil
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
	trailersToken = []byte("trailers")
	comma         = []byte(",")
)

package http2

import (
	"strconv"

	"example.com/ferry/proxy/exchange"

	wire "example.com/ferry/protocol/http2"
)

// Request writes the request's head and applies Relay.Changes.
func (u *upstreamSide) Request(h exchange.RequestHead, end bool) (framed bool) {
	c, scratch := &u.relay.Changes, u.owner.scratch
	_, sameProtocol := h.(*requestHead)
	length := h.ContentLength()
	u.head, u.requestEnded = string(h.Method()) == "HEAD", end
	e := u.stream.BeginHeaders()
	scratch = u.writePseudo(e, h, scratch)
	u.owner.fields.write(e, h, c)
	if length >= 0 && !u.tunnel {
		scratch = strconv.AppendInt(scratch[:0], length, 10)
		e.Field(contentLengthName, scratch)
	}
	if h.ExpectsContinue() && !c.NoExpect {
		e.FieldString("expect", "100-continue")
	}
	if acceptsTrailers(h.Get("te")) {
		e.FieldString("te", "trailers")
	}
	if c.Via != "" {
		scratch = append(scratch[:0], "1.1 "...)
		if sameProtocol {
			scratch = append(scratch[:0], "2 "...)
		}
		scratch = append(scratch, c.Via...)
		e.Field(viaName, scratch)
	}
	u.owner.scratch = scratch
	e.End(end)
	return false
}

// writePseudo writes the pseudo-header fields. RFC 9113, section 8.3.1; RFC 8441, section 4. The scheme is that of the
// connection, because some servers refuse another one. scratch is memory for building values.
func (u *upstreamSide) writePseudo(e *wire.Encoder, h exchange.RequestHead, scratch []byte) []byte {
	method := h.Method()
	if u.tunnel {
		method = connectMethod
		e.Protocol(h.UpgradeTo())
	}
	e.Method(method)
	scheme := httpScheme
	if u.pool.endpoint.Cluster().Config().TLS != nil {
		scheme = httpsScheme
	}
	e.Scheme(scheme)
	scratch = u.relay.AppendAuthority(scratch[:0], h)
	e.Authority(scratch)
	scratch = u.relay.AppendTarget(scratch[:0], h)
	e.Path(scratch)
	return scratch
}

var (
	connectMethod     = []byte("CONNECT")
	httpScheme        = []byte("http")
	httpsScheme       = []byte("https")
	contentLengthName = []byte("content-length")
	viaName           = []byte("via")
)

// RequestData writes a piece of the body. END_STREAM leaves with the last piece, if that is known.
func (u *upstreamSide) RequestData(p []byte, last bool) {
	u.requestEnded = last
	u.stream.Write(p, last)
}

// RequestEnd ends the request.
func (u *upstreamSide) RequestEnd(trailers exchange.Fields) {
	switch {
	case u.requestEnded:
	case trailers == nil:
		u.stream.Write(nil, true)
	default:
		e := u.stream.BeginHeaders()
		u.owner.fields.writeTrailers(e, trailers)
		e.End(true)
	}
	u.requestEnded = true
}

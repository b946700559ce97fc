package http1

import (
	"strings"

	"example.com/ferry/proxy/exchange"

	wire "example.com/ferry/protocol/http1"
)

// Request writes the request's head and applies Relay.Changes. It copies the head of an HTTP/1.1 request in as few
// pieces as possible, and asks for a framed body.
func (u *upstreamSide) Request(h exchange.RequestHead, end bool) (framed bool) {
	b := u.owner.scratch[:0]
	same, framed := h.(*requestHead)
	if framed {
		u.setEdit(same)
		u.method, u.upgrade = same.head.Method, u.relay.Changes.Upgrade
		b = wire.AppendRequest(b, same.data, same.head, &u.owner.edit)
	} else {
		b = u.appendNeutral(b, h, end)
	}
	u.owner.scratch, u.headWritten = b, len(b)
	u.send(b)
	return framed
}

// setEdit sets the edits of an HTTP/1.1 head.
func (u *upstreamSide) setEdit(h *requestHead) {
	e := &u.owner.edit
	*e = u.relay.Changes.RequestEdit
	if h.head.Minor == 0 && h.head.Authority.Empty() && e.Host == "" {
		e.Host = u.relay.Endpoint.Authority()
	}
}

// appendNeutral appends the head of a request that came in another protocol.
func (u *upstreamSide) appendNeutral(b []byte, h exchange.RequestHead, end bool) []byte {
	c := &u.relay.Changes
	u.method = wire.MethodOf(h.Method())
	if u.tunnel = c.Upgrade; u.tunnel {
		u.requestWritten = true // no body follows
		u.protocol = append(u.protocol[:0], h.UpgradeTo()...)
	}
	b = append(append(b, h.Method()...), ' ')
	b = append(u.relay.AppendTarget(b, h), " HTTP/1.1\r\nHost: "...)
	b = append(u.relay.AppendAuthority(b, h), "\r\n"...)
	b = u.owner.fields.appendRequest(b, h, c)
	switch length := h.ContentLength(); {
	case u.tunnel:
		b = u.appendUpgrade(b, h.UpgradeTo())
	case length > 0 || length == 0 && !end:
		b = appendContentLength(b, length)
	case end && (u.method == wire.MethodPost || u.method == wire.MethodPut || u.method == wire.MethodPatch):
		b = appendContentLength(b, 0) // RFC 9110, section 8.6: these methods have a body, which is empty
	case length < 0 && !end:
		u.inChunks = true
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	}
	if !u.tunnel && strings.EqualFold(string(h.Get("te")), "trailers") {
		b = append(b, "Connection: TE\r\nTE: trailers\r\n"...)
	}
	if h.ExpectsContinue() && !c.NoExpect {
		b = append(b, "Expect: 100-continue\r\n"...)
	}
	b = appendNeutralVia(b, "2", c.Via)
	return append(b, "\r\n"...)
}

// RequestData writes a piece of the body.
func (u *upstreamSide) RequestData(p []byte, _ bool) {
	if !u.inChunks {
		u.sendBody(p)
		return
	}
	if len(p) == 0 {
		return // an empty chunk would end the body
	}
	u.owner.scratch = appendChunkSize(u.owner.scratch[:0], len(p))
	u.send(u.owner.scratch)
	u.send(p)
	u.send(crlfBytes)
}

// RequestEnd ends the request.
func (u *upstreamSide) RequestEnd(trailers exchange.Fields) {
	u.requestWritten = true
	if u.tunnel {
		u.conn.CloseWrite()
	}
	if u.inChunks {
		u.owner.scratch = u.owner.fields.appendLastChunk(u.owner.scratch[:0], trailers)
		u.send(u.owner.scratch)
	}
}

package http1

import (
	"strconv"

	"example.com/ferry/proxy/exchange"

	wire "example.com/ferry/protocol/http1"
)

// responseFraming is how the body of a response is written.
type responseFraming uint8

const (
	asReceived responseFraming = iota // the body's bytes as the HTTP/1.1 server sent them, chunk headers included
	plain                             // content whose length is in the head, or no body
	inChunks                          // content, split into chunks by the proxy
	untilClose                        // content that ends when the connection closes, for HTTP/1.0 clients
)

// chooseFraming returns how the body of a response with head h is written.
func (d *downstreamSide) chooseFraming(h exchange.ResponseHead, end bool) responseFraming {
	if same, ok := h.(*responseHead); ok {
		if d.head.Minor == 0 && same.head.Framing == wire.Chunked {
			return untilClose
		}
		return asReceived
	}
	switch status := h.Status(); {
	case end || h.ContentLength() >= 0:
		return plain
	case d.head.Method == wire.MethodHead || status == 204 || status == 304: // no body, not even a last chunk: RFC 9112, section 6.3
		return plain
	case d.head.Minor == 0:
		return untilClose
	}
	return inChunks
}

// appendHead appends the response's head to the loop's scratch memory and applies loopState.edit. It copies the head
// of an HTTP/1.1 response in as few pieces as possible.
func (d *downstreamSide) appendHead(h exchange.ResponseHead) []byte {
	if same, ok := h.(*responseHead); ok {
		return wire.AppendResponse(d.loopState.scratch[:0], same.data, same.head, &d.loopState.edit)
	}
	return d.appendNeutral(d.loopState.scratch[:0], h)
}

// appendNeutral appends the head of a response that came in another protocol.
func (d *downstreamSide) appendNeutral(b []byte, h exchange.ResponseHead) []byte {
	edit, edits := &d.loopState.edit, d.relay.Route.ResponseEdits
	b = d.loopState.fields.appendResponse(appendStatusLine(b, h.Status()), h, edits)
	interim := h.Status()/100 == 1
	if !interim {
		if edit.Date != "" && h.Get("date") == nil && !edits.Removes(dateName) {
			b = appendField(b, "Date", edit.Date)
		}
		for _, pair := range edits.Written() {
			b = appendField(b, pair.Name, pair.Value)
		}
		switch {
		case d.framing == inChunks:
			b = append(b, "Transfer-Encoding: chunked\r\n"...)
		case h.ContentLength() >= 0 && h.Status() != 204:
			b = appendContentLength(b, h.ContentLength())
		}
	}
	version := "2"
	if _, same := exchange.Received(h).(*responseHead); same {
		version = "1.1"
	}
	b = appendNeutralVia(b, version, edit.Via)
	switch {
	case interim:
	case edit.Close:
		b = append(b, "Connection: close\r\n"...)
	case edit.KeepAlive:
		b = append(b, "Connection: keep-alive\r\n"...)
	}
	return append(b, "\r\n"...)
}

// sendChunk writes p as one chunk (RFC 9112, section 7.1).
func (d *downstreamSide) sendChunk(p []byte) {
	if len(p) == 0 {
		return // an empty chunk would end the body
	}
	d.writeHead(appendChunkSize(d.loopState.scratch[:0], len(p)))
	d.send(p)
	d.send(crlfBytes)
}

// endChunks writes the last chunk and the trailers.
func (d *downstreamSide) endChunks(trailers exchange.Fields) {
	d.writeHead(d.loopState.fields.appendLastChunk(d.loopState.scratch[:0], trailers))
}

var (
	crlfBytes = []byte("\r\n")
	dateName  = []byte("date")
)

func appendChunkSize(b []byte, n int) []byte {
	return append(strconv.AppendInt(b, int64(n), 16), "\r\n"...)
}

func (f *neutralFields) appendLastChunk(b []byte, trailers exchange.Fields) []byte {
	return append(f.appendTrailers(append(b, "0\r\n"...), trailers), "\r\n"...)
}

func appendStatusLine(b []byte, status int) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, ' ')
	b = append(b, exchange.StatusText(status)...)
	return append(b, "\r\n"...)
}

func appendField[T string | []byte](b []byte, name, value T) []byte {
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, value...)
	return append(b, "\r\n"...)
}

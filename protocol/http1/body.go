package http1

import (
	"fmt"
	"io"
)

// Part describes the bytes that one call of Body.Next has consumed. Its spans are offsets in the data of that call.
type Part struct {
	Content Span  // the content, without the chunked encoding; empty if the bytes hold no content
	Trailer Field // a field after the last chunk; its Name is empty if the bytes hold no trailer field
	Dropped Span  // bytes that are not forwarded: chunk extensions
}

// Body finds the end of a message in the bytes that follow its head. It stores counters and no bytes, so its size does not
// depend on the size of the body. Head.Body returns a Body.
type Body struct {
	framing  Framing
	state    chunkState
	response bool
	left     int64 // bytes of content that follow, up to the end of the body or chunk
	content  int64 // bytes of content consumed
	offset   int64 // bytes consumed, with the chunked encoding
	limits   *Limits

	extensions, trailers, fields int // bytes of extensions, bytes of trailers and trailer lines consumed
}

// Body returns the Body of the message that h is the head of. Nil limits mean the default limits.
func (h *Head) Body(limits *Limits) Body {
	return Body{framing: h.Framing, left: h.Length, response: h.response, limits: limits.orDefault()}
}

// Done reports whether the message has ended. It is never true for a tunnel or a body that ends with the connection: see End.
func (b *Body) Done() bool {
	switch b.framing {
	case BodyNone:
		return true
	case Length:
		return b.left == 0
	case Chunked:
		return b.state == atBodyEnd
	}
	return false
}

// Known returns how many bytes of content certainly follow: those that are left of a body with a length. It is 0 for other bodies.
func (b *Body) Known() int64 {
	if b.framing != Length {
		return 0
	}
	return b.left
}

// Advance does what Take does for the next n bytes, at most Known, without reading them.
func (b *Body) Advance(n int64) {
	if n < 0 || n > b.Known() {
		panic(fmt.Sprintf("http1: Advance of %d bytes of a body: %d are known to follow", n, b.Known()))
	}
	b.left -= n
	b.content += n
	b.offset += n
}

// Take returns how many of the first bytes of data belong to the message. If data ends within a chunk's size line or a trailer
// line, Take does not count that line: pass the line again together with the bytes that follow. Malformed bytes are an *Error;
// the n bytes before them are valid.
func (b *Body) Take(data []byte) (n int, err error) {
	for {
		m, _, err := b.Next(data[n:])
		if m == 0 || err != nil {
			return n, err
		}
		n += m
	}
}

// Pass is like Take, and calls pass for the bytes that a proxy forwards, in as few pieces as possible: all of them but chunk extensions, which are
// meant for one connection (RFC 9112, section 7.1.1).
func (b *Body) Pass(data []byte, pass func(p []byte)) (n int, err error) {
	from := 0
	for {
		m, part, err := b.Next(data[n:])
		if m == 0 || err != nil {
			if from < n {
				pass(data[from:n])
			}
			return n, err
		}
		if !part.Dropped.Empty() {
			if to := n + int(part.Dropped.Start); from < to {
				pass(data[from:to])
			}
			from = n + int(part.Dropped.End)
		}
		n += m
	}
}

// Next is like Take, but it stops after the first part, and p describes that part. It returns 0 if the message is complete or
// data is too short.
func (b *Body) Next(data []byte) (n int, p Part, err error) {
	switch {
	case b.Done() || len(data) == 0:
		return 0, Part{}, nil
	case b.framing == Chunked:
		n, p, err = b.nextChunked(data)
	case b.framing == Length:
		n, p, err = b.take(data)
	default:
		b.left = int64(len(data))
		n, p, err = b.take(data)
	}
	b.offset += int64(n)
	return n, p, err
}

// take consumes up to b.left bytes of content.
func (b *Body) take(data []byte) (int, Part, error) {
	n := int(min(b.left, int64(len(data))))
	if room := b.limits.MaxBody - b.content; b.limits.MaxBody > 0 && b.framing != Tunnel && int64(n) > room {
		if room == 0 {
			return 0, Part{}, b.refuse(413, 0, fmt.Sprintf("a body of more than %d bytes", b.limits.MaxBody))
		}
		n = int(room)
	}
	b.left -= int64(n)
	b.content += int64(n)
	return n, Part{Content: span(0, n)}, nil
}

// End is called at the end of the connection. It returns io.ErrUnexpectedEOF if the message is incomplete.
func (b *Body) End() error {
	if b.Done() || b.framing == UntilClose || b.framing == Tunnel {
		return nil
	}
	return io.ErrUnexpectedEOF
}

// refuse returns the error for a malformed body. at is the offset of the wrong byte in the data of this call.
func (b *Body) refuse(status, at int, reason string) error {
	if b.response {
		status = 502
	}
	return &Error{Status: status, Offset: b.offset + int64(at), Reason: reason}
}

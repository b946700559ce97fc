package http1

import (
	"fmt"
	"io"
)

// Part describes the bytes that Body.Next has taken. Its spans refer to the data of that call.
type Part struct {
	Content Span  // the content, without the chunked encoding; empty if the bytes are encoding only
	Trailer Field // a field behind the last chunk; its Name is empty if the bytes are no trailer
}

// Body finds the end of a message in the bytes that follow its head. It stores counters and no bytes, so its size does not
// depend on the body. Head.Body returns one.
type Body struct {
	framing  Framing
	state    chunkState
	response bool
	left     int64 // bytes of content up to the end, or of the chunk
	content  int64 // bytes of content so far
	offset   int64 // bytes taken so far
	limits   *Limits

	extensions, trailers, fields int // bytes, bytes and lines so far
}

// Body returns the Body of the message whose head h is. Nil means the default limits.
func (h *Head) Body(limits *Limits) Body {
	return Body{framing: h.Framing, left: h.Length, response: h.response, limits: limits.orDefault()}
}

// Done reports whether the message is at its end. A body until close, or a tunnel, never is: see End.
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

// Take returns how many of the first bytes of data belong to the message. If data ends within a chunk's size line or a trailer
// line, that line is not counted: pass it again, together with the bytes that follow. Malformed bytes give *Error; the n bytes
// before them are valid.
func (b *Body) Take(data []byte) (n int, err error) {
	for {
		m, _, err := b.Next(data[n:])
		if m == 0 || err != nil {
			return n, err
		}
		n += m
	}
}

// Next is like Take, and stops at the end of the first part, which it describes. It returns 0 if the message is complete, or if
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

// take takes up to b.left bytes of content.
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

// End is for the end of the connection. It returns io.ErrUnexpectedEOF if the message is incomplete.
func (b *Body) End() error {
	if b.Done() || b.framing == UntilClose || b.framing == Tunnel {
		return nil
	}
	return io.ErrUnexpectedEOF
}

// refuse makes the error of a body for the byte at.
func (b *Body) refuse(status, at int, reason string) error {
	if b.response {
		status = 502
	}
	return &Error{Status: status, Offset: b.offset + int64(at), Reason: reason}
}

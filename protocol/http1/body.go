package http1

import (
	"fmt"
	"io"
)

// Part says what the bytes are that Body.Next has taken. Its spans mean the data given to that call.
type Part struct {
	Content Span  // what the message carries, without the encoding; empty if these bytes are of the encoding only
	Trailer Field // a field behind the last chunk; its Name is empty if these bytes are none
}

// Body finds the end of a message in the bytes that follow its head. It holds a few numbers and none of the bytes, so a body of
// any length takes the same room. Head.Body makes one.
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

// Body returns the Body of the message whose head was parsed. nil means the default limits.
func (h *Head) Body(limits *Limits) Body {
	return Body{framing: h.Framing, left: h.Length, response: h.response, limits: limits.orDefault()}
}

// Done reports whether the message is at its end. A body until close, or a tunnel, never is: see End.
func (b *Body) Done() bool {
	switch b.framing {
	case NoBody:
		return true
	case Length:
		return b.left == 0
	case Chunked:
		return b.state == atBodyEnd
	}
	return false
}

// Take returns how many bytes data begins with that belong to the message, as far as that can be said yet: keep the rest, and
// give it again with what follows. At most a chunk's size line or a trailer's line is left so. Bytes that are not in order
// give *Error; the n bytes before them are.
func (b *Body) Take(data []byte) (n int, err error) {
	for {
		m, _, err := b.Next(data[n:])
		if m == 0 || err != nil {
			return n, err
		}
		n += m
	}
}

// Next is Take up to the end of the first part: it says of n bytes what they are. It returns 0 if the message is done, or if
// it takes more bytes than data to say so.
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

// End tells the body that its connection delivers no more. A message that was to go on gives io.ErrUnexpectedEOF.
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

package grpc

import (
	"errors"
	"fmt"
	"io"

	"example.com/ferry/internal/grpcwire"
	"example.com/ferry/protocol/http2"
)

// messageReader finds the content of messages in DATA, in pieces of any size.
type messageReader struct {
	prefix [grpcwire.PrefixSize]byte
	have   int   // bytes of prefix
	left   int64 // bytes of the message's content that have not arrived
}

var errCompressed = errors.New("grpc: the peer sent a compressed message: send plain bytes")

// next returns the content at the start of p, which may be empty, and what follows it.
func (r *messageReader) next(p []byte) (content, rest []byte, err error) {
	if r.left == 0 {
		n := copy(r.prefix[r.have:], p)
		r.have += n
		p = p[n:]
		if r.have < len(r.prefix) {
			return nil, p, nil
		}
		flag, length := grpcwire.Prefix(r.prefix[:])
		if flag != 0 {
			return nil, nil, errCompressed
		}
		r.have, r.left = 0, int64(length)
	}
	n := int(min(r.left, int64(len(p))))
	r.left -= int64(n)
	return p[:n], p[n:], nil
}

// data takes a piece of the body. Prefixes, and all bytes after Close, are consumed at once.
func (c *conn) data(p []byte, end bool) {
	switch {
	case c.released:
		return
	case c.closed:
		c.stream.Consumed(len(p))
		return
	}
	consumed := len(p)
	for len(p) > 0 {
		content, rest, err := c.messages.next(p)
		if err != nil {
			c.fail(err)
			return
		}
		if len(content) > 0 {
			c.in.Put(content)
			consumed -= len(content)
		}
		p = rest
	}
	c.stream.Consumed(consumed)
	if end {
		c.end(io.EOF)
	}
}

// end ends Read with err after the bytes that have arrived. A client's stream accepts no more bytes then, because the server has ended
// the call.
func (c *conn) end(err error) {
	if c.messages.left > 0 || c.messages.have > 0 {
		err = io.ErrUnexpectedEOF
	}
	c.in.End(err)
	if c.dialed {
		c.over = true
		c.notify()
	}
}

// fail resets a stream whose peer broke the protocol.
func (c *conn) fail(err error) {
	c.in.End(err)
	if !c.released {
		c.stream.Reset(http2.Cancel)
		c.release()
	}
}

// reset handles a stream that ended before both sides were complete.
func (c *conn) reset(why http2.StreamError) {
	c.in.End(why) // after io.EOF, if the peer has ended its side
	c.release()
}

// statusError returns io.EOF for a call that ended in order, or an error with the status in the trailers.
func statusError(h *http2.Head) error {
	switch s := grpcwire.ReadStatus(h); {
	case !s.Valid:
		return fmt.Errorf("grpc: the call ended with the status %.20q, which is no number", s.Text)
	case s.Code != 0:
		return fmt.Errorf("grpc: the server ended the call with status %d: %.200q", s.Code, s.Message)
	}
	return io.EOF
}

// writeStatus ends a response by trailers with the status of the call.
func writeStatus(s *http2.Stream, code uint32, message string) {
	e := s.BeginHeaders()
	grpcwire.WriteStatus(e, code, message)
	e.End(true)
}

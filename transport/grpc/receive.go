package grpc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"example.com/ferry/protocol/http2"
)

const (
	contentType = "application/grpc"
	prefixSize  = 5 // a byte that says whether the message is compressed, and its length as uint32
)

// The codes of gRPC that this package uses.
const (
	statusOK            = 0
	statusUnimplemented = 12
	statusUnavailable   = 14
)

func isGRPC(value []byte) bool { return strings.HasPrefix(string(value), contentType) }

func appendPrefix(dst []byte, n int) []byte {
	return binary.BigEndian.AppendUint32(append(dst, 0), uint32(n))
}

// messageReader finds the content of messages in DATA, in pieces of any size.
type messageReader struct {
	prefix [prefixSize]byte
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
		if r.have < prefixSize {
			return nil, p, nil
		}
		if r.prefix[0] != 0 {
			return nil, nil, errCompressed
		}
		r.have, r.left = 0, int64(binary.BigEndian.Uint32(r.prefix[1:]))
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
	text := string(h.Get("grpc-status"))
	code, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return fmt.Errorf("grpc: the call ended with the status %.20q, which is no number", text)
	case code == statusOK:
		return io.EOF
	}
	return fmt.Errorf("grpc: the server ended the call with status %d: %.200q", code, h.Get("grpc-message"))
}

// writeStatus ends a response by trailers with the status of the call.
func writeStatus(s *http2.Stream, code int, message string) {
	e := s.BeginHeaders()
	e.FieldString("grpc-status", strconv.Itoa(code))
	if message != "" {
		e.FieldString("grpc-message", message)
	}
	e.End(true)
}

package websocket

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// Opcode is the kind of a frame. RFC 6455, section 5.2.
type Opcode uint8

// The opcodes.
const (
	Continuation Opcode = 0
	Text         Opcode = 1
	Binary       Opcode = 2
	Close        Opcode = 8
	Ping         Opcode = 9
	Pong         Opcode = 10
)

func (o Opcode) control() bool { return o >= Close }

// Code is the reason of a Close frame. RFC 6455, section 7.4.1.
type Code uint16

// The codes that a server sends.
const (
	Normal        Code = 1000
	GoingAway     Code = 1001
	ProtocolError Code = 1002
	Unsupported   Code = 1003
	InvalidText   Code = 1007
	Policy        Code = 1008
	TooLarge      Code = 1009
	Internal      Code = 1011
	TryLater      Code = 1013
)

// noStatus stands for a Close frame without a code. It is never sent.
const noStatus Code = 1005

// Error says why the bytes of a client are refused. The server sends Close with Code and closes the connection.
type Error struct {
	Code   Code
	Reason string // at most 123 bytes
}

func (e *Error) Error() string { return fmt.Sprintf("websocket: %s: close with %d", e.Reason, e.Code) }

// Header is what a frame of a client begins with.
type Header struct {
	Opcode     Opcode
	Final      bool
	Compressed bool   // bit RSV1: the first frame of a compressed message
	Mask       uint32 // little-endian, of the next bytes of the payload
	Size       uint64 // of the payload, in bytes
}

// Frame is a frame of a client. Payload is a view, without the mask.
type Frame struct {
	Opcode     Opcode
	Final      bool
	Compressed bool
	Payload    []byte
}

const (
	maxControl = 125 // bytes of the payload of a control frame. RFC 6455, section 5.5
	// MaxHeader is the length of the longest header, in bytes.
	MaxHeader = 14
)

// ParseHeader returns the header that p begins with, and its length. The length is 0 if the header is not whole. A malformed one, or one of a frame of more
// than limit bytes, gives an *Error as soon as that is known. RFC 6455, section 5.2.
func ParseHeader(p []byte, limit uint64) (n int, h Header, err error) {
	refuse := func(code Code, reason string) (int, Header, error) { return 0, Header{}, &Error{code, reason} }
	if len(p) < 2 {
		return 0, h, nil
	}
	h.Final, h.Compressed, h.Opcode = p[0]&0x80 != 0, p[0]&0x40 != 0, Opcode(p[0]&15)
	h.Size = uint64(p[1] & 0x7f)
	at := 2
	switch {
	case p[0]&0x30 != 0:
		return refuse(ProtocolError, "a reserved bit is set")
	case h.Opcode > Binary && h.Opcode < Close || h.Opcode > Pong:
		return refuse(ProtocolError, fmt.Sprintf("unknown opcode %d", h.Opcode))
	case p[1]&0x80 == 0:
		return refuse(ProtocolError, "a frame of a client without a mask")
	case h.Opcode.control() && (!h.Final || h.Size > maxControl || h.Compressed):
		return refuse(ProtocolError, "a control frame that is fragmented, compressed or longer than 125 bytes")
	case h.Opcode == Continuation && h.Compressed:
		return refuse(ProtocolError, "a continuation with the bit of compression")
	}
	switch h.Size {
	case 126:
		if len(p) < 4 {
			return 0, h, nil
		}
		if h.Size, at = uint64(binary.BigEndian.Uint16(p[2:])), 4; h.Size < 126 {
			return refuse(ProtocolError, "a length that is not in its shortest form")
		}
	case 127:
		if len(p) < 10 {
			return 0, h, nil
		}
		if h.Size, at = binary.BigEndian.Uint64(p[2:]), 10; h.Size < 1<<16 || h.Size>>63 != 0 {
			return refuse(ProtocolError, "a length that is not in its shortest form")
		}
	}
	if h.Size > limit {
		return refuse(TooLarge, fmt.Sprintf("a frame of more than %d bytes", limit))
	}
	if len(p) < at+4 {
		return 0, h, nil
	}
	h.Mask = binary.LittleEndian.Uint32(p[at:])
	return at + 4, h, nil
}

// Next returns the first frame of p and its length. The length is 0 if the frame is not whole: read more bytes, then call it again with
// all of them. It removes the mask within p. A malformed frame, or one of more than limit bytes, gives an *Error as soon as its header
// has arrived.
func Next(p []byte, limit int) (n int, f Frame, err error) {
	at, h, err := ParseHeader(p, uint64(limit))
	if at == 0 || err != nil || uint64(len(p)-at) < h.Size {
		return 0, f, err
	}
	n = at + int(h.Size)
	f = Frame{h.Opcode, h.Final, h.Compressed, p[at:n:n]}
	h.Unmask(f.Payload)
	return n, f, nil
}

// Unmask removes the mask from the next bytes of the payload: afterwards, Mask and Size are those of the bytes that follow. RFC 6455, section 5.3.
func (h *Header) Unmask(p []byte) {
	h.Size -= uint64(len(p))
	word := uint64(h.Mask)<<32 | uint64(h.Mask)
	for len(p) >= 8 {
		binary.LittleEndian.PutUint64(p, binary.LittleEndian.Uint64(p)^word)
		p = p[8:]
	}
	for i := range p {
		p[i] ^= byte(word >> (8 * i))
	}
	h.Mask = bits.RotateLeft32(h.Mask, -8*len(p))
}

// AppendFrame appends a frame of a server that is a whole message, or a control frame.
func AppendFrame(dst []byte, o Opcode, payload []byte) []byte {
	return append(AppendHeader(dst, o, len(payload)), payload...)
}

// AppendClose appends a Close frame. A longer reason is cut.
func AppendClose(dst []byte, c Code, reason string) []byte {
	if c == noStatus {
		return AppendHeader(dst, Close, 0)
	}
	for len(reason) > maxControl-2 {
		_, size := utf8.DecodeLastRuneInString(reason)
		reason = reason[:len(reason)-size]
	}
	dst = AppendHeader(dst, Close, 2+len(reason))
	return append(binary.BigEndian.AppendUint16(dst, uint16(c)), reason...)
}

// AppendHeader appends the header of a frame of a server with size bytes of payload, which follow.
func AppendHeader(dst []byte, o Opcode, size int) []byte {
	return appendHeader(dst, 0x80|byte(o), size)
}

func appendHeader(dst []byte, first byte, size int) []byte {
	switch {
	case size < 126:
		return append(dst, first, byte(size))
	case size < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, first, 126), uint16(size))
	}
	return binary.BigEndian.AppendUint64(append(dst, first, 127), uint64(size))
}

// CloseCode returns the code of a Close frame, which the server sends back. The error refuses a malformed frame. RFC 6455, section
// 5.5.1.
func CloseCode(payload []byte) (Code, error) {
	switch {
	case len(payload) == 0:
		return noStatus, nil
	case len(payload) == 1:
		return 0, &Error{ProtocolError, "a Close frame of one byte"}
	}
	c := Code(binary.BigEndian.Uint16(payload))
	if c < 1000 || c > 1014 && c < 3000 || c >= 5000 || c >= 1004 && c <= 1006 {
		return 0, &Error{ProtocolError, fmt.Sprintf("code %d in a Close frame", c)}
	}
	if !utf8.Valid(payload[2:]) {
		return 0, &Error{InvalidText, "a reason that is not UTF-8"}
	}
	return c, nil
}

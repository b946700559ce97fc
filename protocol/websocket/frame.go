package websocket

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"fmt"
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

// Frame is a frame of a client. Payload is a view, without the mask.
type Frame struct {
	Opcode     Opcode
	Final      bool
	Compressed bool // bit RSV1: the first frame of a compressed message
	Payload    []byte
}

// maxControl is the longest payload of a control frame, in bytes. RFC 6455, section 5.5.
const maxControl = 125

// Next returns the first frame of p and its length. The length is 0 if the frame is not whole: read more bytes, then call it again with
// all of them. It removes the mask within p. A malformed frame, or one of more than limit bytes, gives an *Error as soon as its header
// has arrived. RFC 6455, section 5.2.
func Next(p []byte, limit int) (n int, f Frame, err error) {
	refuse := func(code Code, reason string) (int, Frame, error) { return 0, Frame{}, &Error{code, reason} }
	if len(p) < 2 {
		return 0, f, nil
	}
	f.Final, f.Compressed, f.Opcode = p[0]&0x80 != 0, p[0]&0x40 != 0, Opcode(p[0]&15)
	size, at := uint64(p[1]&0x7f), 2
	switch {
	case p[0]&0x30 != 0:
		return refuse(ProtocolError, "a reserved bit is set")
	case f.Opcode > Binary && f.Opcode < Close || f.Opcode > Pong:
		return refuse(ProtocolError, fmt.Sprintf("unknown opcode %d", f.Opcode))
	case p[1]&0x80 == 0:
		return refuse(ProtocolError, "a frame of a client without a mask")
	case f.Opcode.control() && (!f.Final || size > maxControl || f.Compressed):
		return refuse(ProtocolError, "a control frame that is fragmented, compressed or longer than 125 bytes")
	case f.Opcode == Continuation && f.Compressed:
		return refuse(ProtocolError, "a continuation with the bit of compression")
	}
	switch size {
	case 126:
		if len(p) < 4 {
			return 0, f, nil
		}
		if size, at = uint64(binary.BigEndian.Uint16(p[2:])), 4; size < 126 {
			return refuse(ProtocolError, "a length that is not in its shortest form")
		}
	case 127:
		if len(p) < 10 {
			return 0, f, nil
		}
		if size, at = binary.BigEndian.Uint64(p[2:]), 10; size < 1<<16 || size>>63 != 0 {
			return refuse(ProtocolError, "a length that is not in its shortest form")
		}
	}
	if size > uint64(limit) {
		return refuse(TooLarge, fmt.Sprintf("a frame of more than %d bytes", limit))
	}
	n = at + 4 + int(size)
	if len(p) < n {
		return 0, f, nil
	}
	f.Payload = p[at+4 : n : n]
	unmask(f.Payload, [4]byte(p[at:]))
	return n, f, nil
}

// unmask applies the mask. RFC 6455, section 5.3.
func unmask(p []byte, mask [4]byte) {
	word := uint64(binary.LittleEndian.Uint32(mask[:]))
	word |= word << 32
	for len(p) >= 8 {
		binary.LittleEndian.PutUint64(p, binary.LittleEndian.Uint64(p)^word)
		p = p[8:]
	}
	for i := range p {
		p[i] ^= mask[i&3]
	}
}

// AppendFrame appends a frame of a server that is a whole message, or a control frame.
func AppendFrame(dst []byte, o Opcode, payload []byte) []byte {
	return append(appendHeader(dst, 0x80|byte(o), len(payload)), payload...)
}

// AppendClose appends a Close frame. A longer reason is cut.
func AppendClose(dst []byte, c Code, reason string) []byte {
	if c == noStatus {
		return appendHeader(dst, 0x80|byte(Close), 0)
	}
	for len(reason) > maxControl-2 {
		_, size := utf8.DecodeLastRuneInString(reason)
		reason = reason[:len(reason)-size]
	}
	dst = appendHeader(dst, 0x80|byte(Close), 2+len(reason))
	return append(binary.BigEndian.AppendUint16(dst, uint16(c)), reason...)
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

// Accept returns the value of Sec-WebSocket-Accept for that of Sec-WebSocket-Key. ok is false if the key is not one. RFC 6455, section
// 4.2.2.
func Accept(key []byte) (accept string, ok bool) {
	if raw, err := base64.StdEncoding.DecodeString(string(key)); err != nil || len(raw) != 16 {
		return "", false
	}
	sum := sha1.Sum(append(append([]byte(nil), key...), "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"...)) //nolint:gosec // the standard names SHA-1
	return base64.StdEncoding.EncodeToString(sum[:]), true
}

package http2

import "encoding/binary"

// The frame types. RFC 9113, section 6.
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	framePriority     = 0x2
	frameReset        = 0x3
	frameSettings     = 0x4
	framePushPromise  = 0x5
	framePing         = 0x6
	frameGoAway       = 0x7
	frameWindowUpdate = 0x8
	frameContinuation = 0x9
)

// The frame flags. RFC 9113, section 6.
const (
	flagEndStream  = 0x1 // DATA, HEADERS
	flagAck        = 0x1 // SETTINGS, PING
	flagEndHeaders = 0x4 // HEADERS, CONTINUATION
	flagPadded     = 0x8 // DATA, HEADERS
	flagPriority   = 0x20
)

const (
	frameHeaderSize = 9                                       // RFC 9113, section 4.1
	minMaxFrame     = 1 << 14                                 // RFC 9113, section 6.5.2
	maxMaxFrame     = 1<<24 - 1                               // RFC 9113, section 6.5.2
	initialWindow   = 1<<16 - 1                               // RFC 9113, section 6.9.2
	maxWindow       = 1<<31 - 1                               // RFC 9113, section 6.9.1
	maxStreamID     = 1<<31 - 1                               // RFC 9113, section 5.1.1
	pingSize        = 8                                       // RFC 9113, section 6.7
	settingSize     = 6                                       // RFC 9113, section 6.5.1
	preface         = "PRI * HTTP/2.0" + "\r\n\r\nSM\r\n\r\n" // RFC 9113, section 3.4
)

// frameHeader is the decoded header of a frame.
type frameHeader struct {
	length int
	kind   uint8
	flags  uint8
	stream uint32
}

func (h *frameHeader) has(flag uint8) bool { return h.flags&flag != 0 }

// parseFrameHeader decodes the first nine bytes of p. The reserved bit is ignored.
func parseFrameHeader(p []byte) frameHeader {
	_ = p[frameHeaderSize-1]
	word := binary.BigEndian.Uint32(p)
	return frameHeader{
		length: int(word >> 8),
		kind:   uint8(word),
		flags:  p[4],
		stream: binary.BigEndian.Uint32(p[5:]) & maxStreamID,
	}
}

// putFrameHeader encodes a frame header into the first nine bytes of p.
func putFrameHeader(p []byte, length int, kind, flags uint8, stream uint32) {
	_ = p[frameHeaderSize-1]
	binary.BigEndian.PutUint32(p, uint32(length)<<8|uint32(kind))
	p[4] = flags
	binary.BigEndian.PutUint32(p[5:], stream)
}

// appendFrameHeader appends a frame header.
func appendFrameHeader(p []byte, length int, kind, flags uint8, stream uint32) []byte {
	p = append(p, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	putFrameHeader(p[len(p)-frameHeaderSize:], length, kind, flags, stream)
	return p
}

// appendSetting appends one parameter of a SETTINGS frame. RFC 9113, section 6.5.1.
func appendSetting(p []byte, id uint16, value uint32) []byte {
	p = binary.BigEndian.AppendUint16(p, id)
	return binary.BigEndian.AppendUint32(p, value)
}

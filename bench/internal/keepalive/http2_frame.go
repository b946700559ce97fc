package keepalive

import (
	"encoding/binary"
	"fmt"
)

// This file and its neighbors encode and decode HTTP/2 (RFC 9113). They do not use ferry's package http2, so that the load
// generator also detects errors of that package.

// Types of frames. RFC 9113, section 6.
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	framePriority     = 0x2
	frameReset        = 0x3
	frameSettings     = 0x4
	framePing         = 0x6
	frameGoAway       = 0x7
	frameWindowUpdate = 0x8
	frameContinuation = 0x9
)

// Flags of frames.
const (
	flagEndStream  = 0x1
	flagAck        = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20
)

// Settings. RFC 9113, section 6.5.2.
const (
	settingTableSize  = 0x1
	settingEnablePush = 0x2
	settingStreams    = 0x3
	settingWindow     = 0x4
	settingFrameSize  = 0x5
)

const (
	frameHeader   = 9     // bytes before each frame's payload
	defaultWindow = 65535 // RFC 9113, section 6.9.2
	defaultFrame  = 16384
	streamWindow  = 1 << 20
	connWindow    = 16 << 20
	preface       = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

// http2Frame is a decoded frame. Its payload lies in the input.
type http2Frame struct {
	kind    byte
	flags   byte
	stream  uint32
	payload []byte
}

// nextFrame decodes the first frame of p. n is its length, or 0 if the frame is incomplete.
func nextFrame(p []byte) (f http2Frame, n int, err error) {
	if len(p) < frameHeader {
		return f, 0, nil
	}
	length := int(p[0])<<16 | int(p[1])<<8 | int(p[2])
	if length > defaultFrame {
		return f, 0, fmt.Errorf("a frame of %d bytes: want %d at most", length, defaultFrame)
	}
	if n = frameHeader + length; len(p) < n {
		return f, 0, nil
	}
	f = http2Frame{kind: p[3], flags: p[4], stream: binary.BigEndian.Uint32(p[5:]) &^ (1 << 31), payload: p[frameHeader:n]}
	return f, n, f.unpad()
}

// unpad removes padding and priority from the payload of DATA and HEADERS.
func (f *http2Frame) unpad() error {
	if f.kind != frameData && f.kind != frameHeaders {
		return nil
	}
	before, after := 0, 0
	if f.flags&flagPadded != 0 && len(f.payload) > 0 {
		before, after = 1, int(f.payload[0])
	}
	if f.kind == frameHeaders && f.flags&flagPriority != 0 {
		before += 5
	}
	if before+after > len(f.payload) {
		return fmt.Errorf("a frame of %d bytes with %d bytes of padding", len(f.payload), after)
	}
	f.payload = f.payload[before : len(f.payload)-after]
	return nil
}

// appendFrame appends the start of a frame; the caller appends the payload.
func appendFrame(dst []byte, length int, kind, flags byte, stream uint32) []byte {
	dst = append(dst, byte(length>>16), byte(length>>8), byte(length), kind, flags)
	return binary.BigEndian.AppendUint32(dst, stream)
}

func appendSetting(dst []byte, id uint16, value uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(dst, id), value)
}

// appendNumber appends a frame whose payload is one number: WINDOW_UPDATE or RST_STREAM.
func appendNumber(dst []byte, kind byte, stream, value uint32) []byte {
	return binary.BigEndian.AppendUint32(appendFrame(dst, 4, kind, 0, stream), value)
}

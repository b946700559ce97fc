package bolt

import (
	"cmp"
	"encoding/binary"
	"math"
	"time"
)

// Sizes in bytes.
const (
	MaxFixed        = 24            // the longest fixed header; with this many bytes Next needs no more
	MaxLength       = math.MaxInt16 // bound on class and on header: Java reads a larger length as negative
	DefaultMaxFrame = 64 << 20      // bound on a frame if Limits sets none
	minFixed        = 20            // the shortest fixed header: a response in V1; a request has 2 bytes more, V2 has 2 bytes more
	switchAt        = 11            // offset of the switch in V2
	crcLen          = 4
)

// Limits bound the frames that Next accepts.
type Limits struct {
	MaxFrame int     // bytes of the whole frame; 0 means DefaultMaxFrame
	MaxHead  int     // bytes of the frame before its content; 0 means MaxFixed + 2*MaxLength
	Dialect  Dialect // dialect of the connection's first frame; 0 accepts any dialect
}

// Frame is a decoded fixed header, with a view of the bytes of the frame that had arrived when Next was called. It is valid as
// long as these bytes are. Methods that do not change the frame may overlap.
//
// The layout of a frame follows. All numbers are big-endian; fields in brackets exist in v2 only. Lengths are in bytes:
// protocol 1, [ver1 1], type 1, command 2, ver2 1, id 4, codec 1, [switch 1], then timeout 4 (in a response: status 2), length
// of class 2, length of header 2, length of content 4, class, header, content, [CRC-32 4]. Sources: RpcCommandEncoder,
// RpcCommandEncoderV2.
type Frame struct {
	// data has the bytes of the frame that have arrived. Its first byte, the protocol, is also the offset of the type: 1 or 2.
	// The fields from type to codec have the same order and lengths in all dialects.
	data    []byte
	size    int // length of the whole frame
	class   uint16
	header  uint16
	fixed   uint8 // length of the fixed header
	trailer uint8 // length of the CRC: crcLen or 0
}

// Next decodes the fixed header at the start of data. If the fixed header is incomplete, Next returns an empty Frame, and need
// is the smallest length of data with which to call it again. Otherwise need is 0. The bytes after the fixed header may be
// missing; FrameLen and HeadLen return how many there will be.
//
// Next returns *SyntaxError as soon as the bytes cannot be a frame. Then the connection must be closed, because the stream
// cannot be resynchronized. If the fixed header is complete, Next returns a Frame together with the error. This Frame has no
// class, header and content, and is an argument for AppendResponse.
func Next(data []byte, limits Limits) (f Frame, need int, err error) {
	if len(data) == 0 {
		return f, minFixed, nil
	}
	dialect, at := V1, 1 // at is the offset of the type
	switch data[0] {
	case 1:
	case 2:
		at = 2
		if len(data) < at {
			return f, minFixed + 2, nil
		}
		dialect = Dialect(binary.BigEndian.Uint16(data))
		if dialect != V2 && dialect != V2CRC {
			return f, 0, unknownValueError(data, 1, "ver1", "1 or 2")
		}
	default:
		return f, 0, unknownValueError(data, 0, "protocol", "1 or 2")
	}
	if limits.Dialect != 0 && dialect != limits.Dialect {
		return f, 0, mixedDialectsError(dialect, limits.Dialect)
	}
	fixed := minFixed + 2*(at-1)
	if len(data) <= at {
		return f, fixed, nil
	}
	switch Type(data[at]) {
	case Response:
	case Request, Oneway:
		fixed += 2
	default:
		return f, 0, unknownValueError(data, at, "type", "0 (response), 1 (request) or 2 (oneway)")
	}
	if len(data) < fixed {
		return f, fixed, nil
	}
	f.data = data[:fixed:fixed]
	f.fixed = uint8(fixed)
	var toggles uint8
	if dialect != V1 {
		toggles = f.data[switchAt]
	}
	if dialect == V2CRC && toggles&SwitchCRC != 0 {
		f.trailer = crcLen
	}
	lengths := binary.BigEndian.Uint64(data[fixed-8:])
	class, header := int(lengths>>48), int(lengths>>32&math.MaxUint16)
	head := fixed + class + header
	size := int64(head) + int64(uint32(lengths)) + int64(f.trailer)
	maxFrame, maxHead := cmp.Or(limits.MaxFrame, DefaultMaxFrame), cmp.Or(limits.MaxHead, math.MaxInt)
	if toggles > math.MaxInt8 || class > MaxLength || header > MaxLength || head > maxHead || size > min(int64(maxFrame), math.MaxInt32) {
		f.size = fixed + int(f.trailer)
		return f, 0, exceededLimit{fixed, toggles, class, header, head, size, maxHead, maxFrame}.reason()
	}
	f.class, f.header, f.size = uint16(class), uint16(header), int(size)
	n := min(len(data), f.size)
	f.data = data[:n:n]
	return f, 0, nil
}

// Dialect returns the dialect of the frame.
func (f Frame) Dialect() Dialect {
	if f.data[0] == 1 {
		return V1
	}
	return Dialect(binary.BigEndian.Uint16(f.data))
}

// Type returns the type of the frame.
func (f Frame) Type() Type { return Type(f.data[f.data[0]]) }

// Command returns the command, which is the purpose of the frame.
func (f Frame) Command() Command { return Command(binary.BigEndian.Uint16(f.data[f.data[0]+1:])) }

// ID returns the request id. A response has the request id of its request.
func (f Frame) ID() uint32 { return binary.BigEndian.Uint32(f.data[f.data[0]+4:]) }

// Codec returns the number of the content's serialization.
func (f Frame) Codec() uint8 { return f.data[f.data[0]+8] }

// Switch returns the switch byte. It returns 0 in V1, which has no switch.
func (f Frame) Switch() uint8 {
	if f.data[0] == 1 {
		return 0
	}
	return f.data[switchAt]
}

// HasCRC reports whether the frame ends with a CRC-32 of all preceding bytes.
func (f Frame) HasCRC() bool { return f.trailer != 0 }

// Timeout returns how long the sender of a request waits for the response. It is negative in heartbeats from Java. It is 0 in
// a response.
func (f Frame) Timeout() time.Duration {
	if f.Type() == Response {
		return 0
	}
	return time.Duration(int32(binary.BigEndian.Uint32(f.data[f.fixed-12:]))) * time.Millisecond
}

// Status returns the status of a response. For a request it returns StatusSuccess.
func (f Frame) Status() Status {
	if f.Type() != Response {
		return StatusSuccess
	}
	return Status(binary.BigEndian.Uint16(f.data[f.fixed-10:]))
}

// FixedLen returns the length of the fixed header in bytes. It is the offset of the class.
func (f Frame) FixedLen() int { return int(f.fixed) }

// ClassLen returns the length of the class in bytes. The header follows the class.
func (f Frame) ClassLen() int { return int(f.class) }

// HeadLen returns the length in bytes of all parts before the content: fixed header, class and header. Routing needs only
// these.
func (f Frame) HeadLen() int { return int(f.fixed) + int(f.class) + int(f.header) }

// ContentLen returns the length of the content in bytes. The content begins at offset HeadLen; a CRC may follow.
func (f Frame) ContentLen() int { return f.size - int(f.trailer) - f.HeadLen() }

// FrameLen returns the length of the whole frame in bytes, with its CRC. It is the offset of the next frame.
func (f Frame) FrameLen() int { return f.size }

// Class returns the name of the content's class, as a view. It returns nil until the whole class has arrived.
func (f Frame) Class() []byte { return f.arrivedPart(f.FixedLen(), f.ClassLen()) }

// Header returns the encoded header, as a view. It returns nil until HeadLen bytes have arrived. In SOFARPC and MOSN the
// header is a map; other implementations may write any bytes.
func (f Frame) Header() Header {
	return Header(f.arrivedPart(f.FixedLen()+f.ClassLen(), int(f.header)))
}

// Content returns the part of the content that has arrived, as a view.
func (f Frame) Content() []byte {
	start := f.HeadLen()
	if len(f.data) <= start {
		return nil
	}
	return f.arrivedPart(start, min(f.ContentLen(), len(f.data)-start))
}

// arrivedPart returns the n bytes at offset at. It returns nil if some of them have not arrived.
func (f Frame) arrivedPart(at, n int) []byte {
	if end := at + n; end <= len(f.data) {
		return f.data[at:end:end]
	}
	return nil
}

package bolt

import (
	"cmp"
	"encoding/binary"
	"math"
	"time"
)

// Sizes in bytes.
const (
	MaxFixed        = 24            // the longest fixed header: with that many bytes Next never needs more
	MaxLength       = math.MaxInt16 // of class and of header: Java reads a longer one as negative
	DefaultMaxFrame = 64 << 20      // frames above this are refused unless Limits says otherwise
	minFixed        = 20            // the shortest fixed header, of a V1 response; a request has 2 more, V2 has 2 more
	switchAt        = 11            // the offset of switch in V2
	crcLen          = 4
)

// Limits bound the frames that Next accepts.
type Limits struct {
	MaxFrame int     // bytes, the whole frame; 0 means DefaultMaxFrame
	MaxHead  int     // bytes before the content; 0 means MaxFixed + 2*MaxLength
	Dialect  Dialect // of the first frame of the connection; 0 means any
}

// Frame is a decoded fixed header, with a view of the bytes of the frame that had arrived when Next was called. It is valid while
// those bytes are. Methods that do not change the frame may overlap.
//
// Its layout, all numbers big-endian, v2 only in brackets: protocol 1, [ver1 1], type 1, command 2, ver2 1, id 4, codec 1,
// [switch 1], then timeout 4 or, in a response, status 2, then class, header 2 and content length 4; class, header,
// content, [CRC-32 4]. RpcCommandEncoder, RpcCommandEncoderV2.
type Frame struct {
	// data has the bytes of the frame that have arrived. The value of its first byte, the protocol, is also the offset of type. The
	// fields from type to codec have the same order and lengths in all dialects.
	data    []byte
	size    int // of the whole frame
	class   uint16
	header  uint16
	fixed   uint8 // length of the fixed header
	trailer uint8 // length of the CRC: crcLen or 0
}

// Next reads the fixed header of the frame that data begins with. If it is incomplete, the Frame is empty and need is the least
// length of data for another call; otherwise need is 0. The rest of the frame may be missing: see FrameLen and HeadLen.
//
// Bytes that cannot be a frame give *SyntaxError as early as possible. The connection must be closed then, as the stream cannot be
// resynchronized. If the fixed header was complete, it is returned with the error as a Frame without class, header and content, for
// AppendResponse.
func Next(data []byte, limits Limits) (f Frame, need int, err error) {
	if len(data) == 0 {
		return f, minFixed, nil
	}
	dialect, at := V1, 1 // at is the offset of type
	switch data[0] {
	case 1:
	case 2:
		at = 2
		if len(data) < at {
			return f, minFixed + 2, nil
		}
		dialect = Dialect(binary.BigEndian.Uint16(data))
		if dialect != V2 && dialect != V2CRC {
			return f, 0, unknown(data, 1, "ver1", "1 or 2")
		}
	default:
		return f, 0, unknown(data, 0, "protocol", "1 or 2")
	}
	if limits.Dialect != 0 && dialect != limits.Dialect {
		return f, 0, mixed(dialect, limits.Dialect)
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
		return f, 0, unknown(data, at, "type", "0 (response), 1 (request) or 2 (oneway)")
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
		return f, 0, refused{fixed, toggles, class, header, head, size, maxHead, maxFrame}.reason()
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

// Command returns the purpose of the frame.
func (f Frame) Command() Command { return Command(binary.BigEndian.Uint16(f.data[f.data[0]+1:])) }

// ID returns the request id. A response has the id of its request.
func (f Frame) ID() uint32 { return binary.BigEndian.Uint32(f.data[f.data[0]+4:]) }

// Codec returns the serialization of the content.
func (f Frame) Codec() uint8 { return f.data[f.data[0]+8] }

// Switch returns the switch byte: 0 in V1, which has none.
func (f Frame) Switch() uint8 {
	if f.data[0] == 1 {
		return 0
	}
	return f.data[switchAt]
}

// HasCRC reports whether the frame ends with a CRC-32 of all bytes before it.
func (f Frame) HasCRC() bool { return f.trailer != 0 }

// Timeout returns how long the sender of a request waits for the response. It is negative for Java's heartbeats, and 0 for a
// response.
func (f Frame) Timeout() time.Duration {
	if f.Type() == Response {
		return 0
	}
	return time.Duration(int32(binary.BigEndian.Uint32(f.data[f.fixed-12:]))) * time.Millisecond
}

// Status returns the status of a response. It is StatusSuccess for a request.
func (f Frame) Status() Status {
	if f.Type() != Response {
		return StatusSuccess
	}
	return Status(binary.BigEndian.Uint16(f.data[f.fixed-10:]))
}

// FixedLen returns the length in bytes of the fixed header: the offset of the class.
func (f Frame) FixedLen() int { return int(f.fixed) }

// ClassLen returns the length in bytes of the class; the header begins behind it.
func (f Frame) ClassLen() int { return int(f.class) }

// HeadLen returns the length in bytes of the frame before the content, which routing depends on.
func (f Frame) HeadLen() int { return int(f.fixed) + int(f.class) + int(f.header) }

// ContentLen returns the length in bytes of the content. It begins at HeadLen; a CRC may follow it.
func (f Frame) ContentLen() int { return f.size - int(f.trailer) - f.HeadLen() }

// FrameLen returns the length in bytes of the whole frame, CRC included: the next one begins there.
func (f Frame) FrameLen() int { return f.size }

// Class returns the name of the content's class: a view, nil until all of it has arrived.
func (f Frame) Class() []byte { return f.part(f.FixedLen(), f.ClassLen()) }

// Header returns the encoded header: a view, nil until HeadLen bytes have arrived. In SOFARPC and MOSN it is a map; other
// implementations may write anything.
func (f Frame) Header() Header { return Header(f.part(f.FixedLen()+f.ClassLen(), int(f.header))) }

// Content returns the part of the content that has arrived: a view.
func (f Frame) Content() []byte {
	start := f.HeadLen()
	if len(f.data) <= start {
		return nil
	}
	return f.part(start, min(f.ContentLen(), len(f.data)-start))
}

// part returns n bytes at offset at, if they have arrived.
func (f Frame) part(at, n int) []byte {
	if end := at + n; end <= len(f.data) {
		return f.data[at:end:end]
	}
	return nil
}

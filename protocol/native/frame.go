package native

import (
	"encoding/binary"
	"fmt"

	"example.com/ferry"
)

// The range of protocol versions that this package speaks.
const (
	LowestVersion = 1
	Version       = 1 // the highest
)

// Magic opens every connection: the first four bytes after HELLO's frame header. "FRRY".
const Magic = 0x46525259

// Sizes in bytes.
const (
	HeaderSize      = 8               // the header of every frame: length, kind, flags, type, extension
	PubHeaderSize   = HeaderSize + 16 // a PUB frame without extension and payload
	DefaultMaxFrame = 1 << 20         // frames above this are refused unless configured otherwise
	MaxHandshake    = 8 << 10         // bound on a HELLO and a WELCOME, whatever MaxFrame says
)

// Kind is the kind of a frame.
type Kind uint8

// The kinds of version 1. CALL, REPLY and CANCEL are reserved for rpc: a peer that receives one answers GOAWAY.
const (
	Hello   Kind = 1  // client: credentials, and the versions it speaks
	Welcome Kind = 2  // node: the client's source id, and the limits
	Ping    Kind = 3  // either: the response has the same eight bytes and FlagAck, after all frames before are handled
	Goaway  Kind = 4  // either: the connection ends, with a reason
	Tag     Kind = 5  // client: request to publish on a tag; node: this number means that tag
	Sub     Kind = 6  // client: subscribe
	Unsub   Kind = 7  // client: end a subscription
	Credit  Kind = 8  // either: this many more bytes may be sent on a tag
	Pub     Kind = 9  // either: one message
	Select  Kind = 10 // node: PUBs behind this frame, on this stream, are for that subscription
	Result  Kind = 11 // node: the response to a TAG or SUB
	Notice  Kind = 12 // node: the client's messages were dropped, with a reason
	Join    Kind = 13 // either: the first frame of a data stream
	Call    Kind = 16
	Reply   Kind = 17
	Cancel  Kind = 18
)

var kindNames = map[Kind]string{
	Hello: "HELLO", Welcome: "WELCOME", Ping: "PING", Goaway: "GOAWAY", Tag: "TAG", Sub: "SUB", Unsub: "UNSUB",
	Credit: "CREDIT", Pub: "PUB", Select: "SELECT", Result: "RESULT", Notice: "NOTICE", Join: "JOIN",
	Call: "CALL", Reply: "REPLY", Cancel: "CANCEL",
}

// String names the kind as docs/native.md does.
func (k Kind) String() string {
	if s, ok := kindNames[k]; ok {
		return s
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Flags. Their meaning depends on the kind; a receiver ignores those it does not know.
const (
	FlagAck       = 0x01 // PING: this is the response
	FlagAddressed = 0x01 // PUB: Source is the addressee, not the publisher. SUB: deliver messages addressed to this client
	FlagValid     = 0x02 // PUB of a node: the payload was validated in full
)

// Frame is one whole frame, a part of the bytes that Split was given. The accessors for PUB need a frame of that kind from
// Split, which has checked its length.
type Frame []byte

// Split returns the first frame in buf. If the frame is incomplete it returns nil and no error: read more and call again. A
// frame longer than maxFrame, or too short for its kind, is an *Error as soon as its header has arrived.
func Split(buf []byte, maxFrame int) (Frame, error) {
	if len(buf) < HeaderSize {
		if len(buf) < 4 {
			return nil, nil
		}
		_, err := frameSize(buf, maxFrame)
		return nil, err
	}
	size, err := frameSize(buf, maxFrame)
	if err != nil {
		return nil, err
	}
	if Kind(buf[4]) == Pub && size < PubHeaderSize+int(buf[7])*4 {
		return nil, &Error{Code: CodeProtocol, Reason: fmt.Sprintf("PUB frame of %d bytes cannot hold its header of %d", size, PubHeaderSize+int(buf[7])*4)}
	}
	if len(buf) < size {
		return nil, nil
	}
	return Frame(buf[:size:size]), nil
}

// Size returns the length in bytes of the frame that starts buf, which has at least four bytes. The length is unchecked.
func Size(buf []byte) int { return 4 + int(binary.BigEndian.Uint32(buf)) }

func frameSize(buf []byte, maxFrame int) (int, error) {
	if size := 4 + uint64(binary.BigEndian.Uint32(buf)); size > uint64(maxFrame) { // an int of 32 bits does not hold it
		return 0, &Error{Code: CodeTooLarge, Reason: fmt.Sprintf("frame of %d bytes: at most %d are accepted here", size, maxFrame)}
	}
	size := Size(buf)
	if size < HeaderSize {
		return 0, &Error{Code: CodeProtocol, Reason: fmt.Sprintf("frame of %d bytes is shorter than its header", size)}
	}
	return size, nil
}

// Kind returns the kind of the frame.
func (f Frame) Kind() Kind { return Kind(f[4]) }

// Flags returns the flag byte.
func (f Frame) Flags() byte { return f[5] }

// SetFlags replaces the flag byte.
func (f Frame) SetFlags(b byte) { f[5] = b }

// Type returns the payload's type.
func (f Frame) Type() ferry.Type { return ferry.Type(f[6]) }

// Tag returns a PUB's tag number, which the node assigned.
func (f Frame) Tag() uint32 { return binary.BigEndian.Uint32(f[8:]) }

// Source returns a PUB's publisher or, with FlagAddressed, its addressee.
func (f Frame) Source() ferry.SourceID { return ferry.SourceID(binary.BigEndian.Uint32(f[12:])) }

// Time returns a PUB's time: Unix nanoseconds at the source.
func (f Frame) Time() int64 { return int64(binary.BigEndian.Uint64(f[16:])) }

// Payload returns a PUB's payload, a part of f.
func (f Frame) Payload() []byte { return f[PubHeaderSize+int(f[7])*4:] }

// Renumber overwrites a PUB's tag number and source id. A client calls it before it sends the frame on a new connection.
func (f Frame) Renumber(tag uint32, source ferry.SourceID) {
	binary.BigEndian.PutUint32(f[8:], tag)
	if f[5]&FlagAddressed == 0 {
		binary.BigEndian.PutUint32(f[12:], uint32(source))
	}
}

// PubHeader is the content of a PUB beside its payload.
type PubHeader struct {
	Flags  byte
	Type   ferry.Type
	Tag    uint32
	Source ferry.SourceID
	Time   int64 // Unix nanoseconds
}

// AppendPub appends a PUB frame.
func AppendPub(dst []byte, h PubHeader, payload []byte) []byte {
	n := len(dst)
	dst = append(dst, make([]byte, PubHeaderSize)...)
	b := dst[n : n+PubHeaderSize]
	binary.BigEndian.PutUint32(b, uint32(PubHeaderSize-4+len(payload)))
	b[4], b[5], b[6], b[7] = byte(Pub), h.Flags, byte(h.Type), 0
	binary.BigEndian.PutUint32(b[8:], h.Tag)
	binary.BigEndian.PutUint32(b[12:], uint32(h.Source))
	binary.BigEndian.PutUint64(b[16:], uint64(h.Time))
	return append(dst, payload...)
}

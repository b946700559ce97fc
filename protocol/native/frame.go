package native

import (
	"encoding/binary"
	"fmt"
	"slices"

	"example.com/ferry"
)

// The protocol versions that this package speaks.
const (
	LowestVersion  = 1
	Version        = 3 // the highest version
	CallVersion    = 2 // the lowest version with calls
	StoredVersion  = 2 // the lowest version with stored streams
	ForwardVersion = 3 // the lowest version with forwarded messages and UNTAG
)

// Magic is the first four bytes after the frame header of HELLO: "FRRY". It identifies the protocol.
const Magic = 0x46525259

// Sizes in bytes.
const (
	HeaderSize      = 8               // header of every frame: length, kind, flags, type, extension
	PubHeaderSize   = HeaderSize + 16 // header of a PUB frame, without extension and payload
	DefaultMaxFrame = 1 << 20         // the largest frame unless configured otherwise
	MaxHandshake    = 8 << 10         // the largest HELLO and WELCOME; MaxFrame does not apply to them
	MaxPubExtension = 4 * 254         // the longest extension of a PUB, unless its tag number is ByName
)

// Kind is the kind of a frame.
type Kind uint8

// The kinds. Each comment begins with the sender of the frame: the client, the node, or either. The kinds from CALL on need
// CallVersion: in version 1 their receiver responds with GOAWAY.
const (
	Hello   Kind = 1  // client: credentials, and the versions that the client speaks
	Welcome Kind = 2  // node: the client's source id, and the limits of the connection
	Ping    Kind = 3  // either: the response has the same eight bytes and FlagAck; it is sent after all earlier frames are handled
	Goaway  Kind = 4  // either: the connection ends, with a reason
	Tag     Kind = 5  // client: request to publish on a tag; node: the number of a tag
	Sub     Kind = 6  // client: request to subscribe
	Unsub   Kind = 7  // client: end of a subscription
	Credit  Kind = 8  // either: permission to send more bytes on a tag
	Pub     Kind = 9  // either: one message
	Select  Kind = 10 // node: the PUBs that follow on this stream belong to the subscription that this frame names
	Result  Kind = 11 // node: response to a TAG or SUB
	Notice  Kind = 12 // node: messages of the client were dropped, with a reason
	Join    Kind = 13 // either: first frame of a data stream

	Call       Kind = 16 // either: a call begins
	Reply      Kind = 17 // either: the call ends, with its status and the last response
	Cancel     Kind = 18 // either: the caller needs no response
	Data       Kind = 19 // either: a message of a call, or a piece of one
	Method     Kind = 20 // either: number of a method and a content type
	CallCredit Kind = 21 // either: permission to send more bytes on a call
	Offer      Kind = 22 // client: the client serves the calls of a service

	Ack Kind = 23 // client: messages of a durable are done, or are being handled
	Nak Kind = 24 // client: messages of a durable have failed

	Forward Kind = 25 // client: number of a path; ForwardVersion
	Untag   Kind = 26 // client: the client publishes on a tag no more; ForwardVersion
)

var kindNames = map[Kind]string{
	Hello: "HELLO", Welcome: "WELCOME", Ping: "PING", Goaway: "GOAWAY", Tag: "TAG", Sub: "SUB", Unsub: "UNSUB",
	Credit: "CREDIT", Pub: "PUB", Select: "SELECT", Result: "RESULT", Notice: "NOTICE", Join: "JOIN",
	Call: "CALL", Reply: "REPLY", Cancel: "CANCEL", Data: "DATA", Method: "METHOD", CallCredit: "CALLCREDIT",
	Offer: "OFFER", Ack: "ACK", Nak: "NAK", Forward: "FORWARD", Untag: "UNTAG",
}

// String returns the name of the kind in docs/native.md.
func (k Kind) String() string {
	if s, ok := kindNames[k]; ok {
		return s
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Flags. The kind of the frame decides what a flag means. A receiver ignores unknown flags.
const (
	FlagAck       = 0x01 // PING: this frame is the response
	FlagAddressed = 0x01 // PUB: Source is the addressee, not the publisher; SUB: deliver only messages addressed to this client
	FlagValid     = 0x02 // PUB from a node: the node has validated the whole payload
	FlagForwarded = 0x04 // PUB from a node that forwards it: Source is the number of a path
	FlagStored    = 0x01 // RESULT of a TAG or SUB: the tag is stored, the subscription reads a stream
	FlagFrom      = 0x02 // RESULT of a SUB: a u64 behind the reason is the sequence number from which it gets messages
)

// Frame is one whole frame. It is a part of the bytes that were passed to Split. The methods that read a PUB need a frame of
// that kind from Split, because Split checks the length.
type Frame []byte

// Split returns the first frame in buf. If the frame is incomplete, Split returns nil and no error: read more bytes and call
// it again. A frame that is longer than maxFrame, or too short for its kind, is an *Error as soon as its header has arrived.
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
	switch kind := Kind(buf[4]); {
	case kind == Pub && buf[7] != longExtension:
		if size < PubHeaderSize+int(buf[7])*4 {
			return nil, &Error{Code: CodeProtocol, Reason: fmt.Sprintf("PUB frame of %d bytes cannot hold its header of %d", size, PubHeaderSize+int(buf[7])*4)}
		}
	case kind == Pub, kind >= Call:
		if _, _, err := extended(buf, size); err != nil {
			return nil, err
		}
	}
	if len(buf) < size {
		return nil, nil
	}
	return Frame(buf[:size:size]), nil
}

// PlainPub returns the length of the frame at the start of buf if it is a whole PUB without an extension. Otherwise it returns 0: call
// Split. It does not check a maximum.
func PlainPub(buf []byte) int {
	if len(buf) < PubHeaderSize || Kind(buf[4]) != Pub || buf[7] != 0 {
		return 0
	}
	size := binary.BigEndian.Uint32(buf)
	if size < PubHeaderSize-4 || uint64(size) > uint64(len(buf)-4) {
		return 0
	}
	return int(size) + 4
}

// Size returns the length in bytes of the frame at the start of buf. buf must have at least four bytes. The length is not
// checked.
func Size(buf []byte) int { return 4 + int(binary.BigEndian.Uint32(buf)) }

func frameSize(buf []byte, maxFrame int) (int, error) {
	if size := 4 + uint64(binary.BigEndian.Uint32(buf)); size > uint64(maxFrame) { // the size may exceed an int of 32 bits
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

// Type returns the type of the payload.
func (f Frame) Type() ferry.Type { return ferry.Type(f[6]) }

// Tag returns the tag number of a PUB, which the node assigned, or ByName.
func (f Frame) Tag() uint32 { return binary.BigEndian.Uint32(f[8:]) }

// Source returns the publisher of a PUB, or with FlagAddressed the addressee.
func (f Frame) Source() ferry.SourceID { return ferry.SourceID(binary.BigEndian.Uint32(f[12:])) }

// Time returns the time of a PUB at its source, in nanoseconds of Unix time.
func (f Frame) Time() int64 { return int64(binary.BigEndian.Uint64(f[16:])) }

// SetTime replaces the time of a PUB.
func (f Frame) SetTime(ns int64) { binary.BigEndian.PutUint64(f[16:], uint64(ns)) }

// Payload returns the payload of a PUB, which is a part of f.
func (f Frame) Payload() []byte {
	if f[7] == longExtension {
		return f.longPayload()
	}
	return f[PubHeaderSize+int(f[7])*4:]
}

func (f Frame) longPayload() []byte {
	_, payload, _ := f.parts()
	return payload
}

// Renumber overwrites the tag number and the source id of a PUB. A client calls it before it sends the frame on a new
// connection.
func (f Frame) Renumber(tag uint32, source ferry.SourceID) {
	binary.BigEndian.PutUint32(f[8:], tag)
	if f[5]&FlagAddressed == 0 {
		binary.BigEndian.PutUint32(f[12:], uint32(source))
	}
}

// PubHeader has all fields of a PUB except the payload.
type PubHeader struct {
	Flags  byte
	Type   ferry.Type
	Tag    uint32
	Source ferry.SourceID
	Time   int64 // Unix time in nanoseconds
}

// AppendPub appends a PUB frame.
func AppendPub(dst []byte, h PubHeader, payload []byte) []byte {
	n, size := len(dst), PubHeaderSize+len(payload)
	dst = slices.Grow(dst, size)[:n+size]
	putPubHeader(dst[n:], h, size-4)
	copy(dst[n+PubHeaderSize:], payload)
	return dst
}

// AppendExtendedPub appends a PUB frame with an extension of at most MaxPubExtension bytes. It pads the extension.
func AppendExtendedPub(dst []byte, h PubHeader, extension, payload []byte) []byte {
	n := len(dst)
	dst = append(appendPubHeader(dst, h), extension...)
	dst = append(dst, "\x00\x00\x00"[:-len(extension)&3]...)
	dst[n+7] = byte((len(extension) + 3) / 4)
	return seal(append(dst, payload...), n)
}

// appendPubHeader appends a header whose length follows.
func appendPubHeader(dst []byte, h PubHeader) []byte {
	n := len(dst)
	dst = append(dst, make([]byte, PubHeaderSize)...)
	putPubHeader(dst[n:], h, 0)
	return dst
}

func putPubHeader(b []byte, h PubHeader, length int) {
	b = b[:PubHeaderSize]
	binary.BigEndian.PutUint64(b, uint64(uint32(length))<<32|uint64(Pub)<<24|uint64(h.Flags)<<16|uint64(h.Type)<<8)
	binary.BigEndian.PutUint64(b[8:], uint64(h.Tag)<<32|uint64(h.Source))
	binary.BigEndian.PutUint64(b[16:], uint64(h.Time))
}

package native

import (
	"encoding/binary"
	"iter"
)

// TLV is the type of an entry in the extension of a PUB, CALL, REPLY or DATA.
type TLV uint8

// The types. A receiver skips those it does not know. 128 to 255 are private.
const (
	TLVPadding      TLV = 0  // one byte, without length and value
	TLVTraceContext TLV = 1  // W3C trace context: version, trace id (16 bytes), parent id (8 bytes), flags
	TLVTraceState   TLV = 2  // W3C tracestate, text
	TLVSequence     TLV = 3  // u64: number of the message in its durable stream
	TLVDeliveries   TLV = 4  // u32: how many times the message was delivered before
	TLVKey          TLV = 5  // bytes: messages with one key keep their order
	TLVOrigin       TLV = 6  // text: the node that accepted the message first
	TLVHops         TLV = 7  // u8: how many nodes have forwarded the message
	TLVTagName      TLV = 8  // PUB with tag number ByName: the tag, text
	TLVID           TLV = 9  // bytes, at most MaxID: idempotency key. The stream stores one message of those of a tag with the same key
	TLVDeadLetter   TLV = 10 // where a dead letter comes from: DeadLetter
	TLVMQTT         TLV = 11 // PUB: what MQTT says of the message: flags u8, the publisher u64 if flag 8 is set, properties of MQTT 5
	TLVFunctions    TLV = 12 // u8: through how many functions the message has come. The client of a function copies it from the message that it handles; the node adds 1
	TLVMetadata     TLV = 16 // CALL: metadata; REPLY, DATA: header. A length u8, the name, the value
	TLVTrailer      TLV = 17 // REPLY: as TLVMetadata
	TLVMessage      TLV = 18 // REPLY: text that explains the code
	TLVDetail       TLV = 19 // REPLY: a detail of the status. A length u8, the type URL, the encoded value
	TLVNumber       TLV = 20 // CALL: u32, the number that the caller gave to the call, because a node gives it another one
)

// OfNode reports whether only nodes write entries of type t in a PUB. A node removes those of a client.
func (t TLV) OfNode() bool {
	switch t {
	case TLVSequence, TLVDeliveries, TLVOrigin, TLVHops, TLVTagName, TLVDeadLetter:
		return true
	}
	return false
}

// MaxFunctions is the most functions that a message may come through. A node drops what a further one publishes.
const MaxFunctions = 16

// AcceptTLVs changes the extension of a PUB for those that a node delivers it to. Entries that only nodes write become padding. If the PUB
// is not forwarded by another node, the entry TLVFunctions counts one more; AcceptTLVs returns false if it is MaxFunctions already.
func AcceptTLVs(extension []byte, forwarded bool) bool {
	for rest := extension; len(rest) > 0; {
		t, value, n := nextTLV(rest)
		switch {
		case n == 0:
			return true
		case t.OfNode() || t == TLVFunctions && len(value) != 1:
			clear(rest[:n]) // each byte is an entry of TLVPadding
		case t != TLVFunctions || forwarded:
		case value[0] >= MaxFunctions:
			return false
		default:
			value[0]++
		}
		rest = rest[n:]
	}
	return true
}

// Functions returns through how many functions the message of a PUB has come.
func (f Frame) Functions() uint8 {
	if f.HasExtension() {
		if value, ok := Entry(f.Extension(), TLVFunctions); ok && len(value) == 1 {
			return value[0]
		}
	}
	return 0
}

// tlvHeader is the length of the type and the length of an entry, in bytes.
const tlvHeader = 3

// MaxTLV is the length of the longest value, in bytes.
const MaxTLV = 65535

// AppendTLV appends an entry with at most MaxTLV bytes.
func AppendTLV[T string | []byte](dst []byte, t TLV, value T) []byte {
	dst = append(dst, byte(t), byte(len(value)>>8), byte(len(value)))
	return append(dst, value...)
}

// AppendNamedTLV appends an entry whose value begins with a name of at most 255 bytes: metadata, a trailer or a detail. Together
// with the length of the name, name and value have at most MaxTLV bytes.
func AppendNamedTLV[T string | []byte](dst []byte, t TLV, name string, value T) []byte {
	n := 1 + len(name) + len(value)
	dst = append(dst, byte(t), byte(n>>8), byte(n), byte(len(name)))
	return append(append(dst, name...), value...)
}

// TLVs returns the entries of an extension without padding, as views. It ends at a malformed entry: CheckTLVs finds those.
func TLVs(extension []byte) iter.Seq2[TLV, []byte] {
	return func(yield func(TLV, []byte) bool) {
		for rest := extension; len(rest) > 0; {
			t, value, n := nextTLV(rest)
			if n == 0 || t != TLVPadding && !yield(t, value) {
				return
			}
			rest = rest[n:]
		}
	}
}

// nextTLV returns the first entry of b and its length with header. n is 0 if the entry is malformed.
func nextTLV(b []byte) (t TLV, value []byte, n int) {
	if b[0] == byte(TLVPadding) {
		return TLVPadding, nil, 1
	}
	if len(b) < tlvHeader {
		return 0, nil, 0
	}
	n = tlvHeader + int(binary.BigEndian.Uint16(b[1:]))
	if len(b) < n {
		return 0, nil, 0
	}
	return TLV(b[0]), b[tlvHeader:n], n
}

// NamedTLV splits the value of an entry that AppendNamedTLV has appended.
func NamedTLV(value []byte) (name, rest []byte, ok bool) {
	if len(value) == 0 || len(value) < 1+int(value[0]) {
		return nil, nil, false
	}
	n := 1 + int(value[0])
	return value[1:n], value[n:], true
}

// CheckTLVs returns an error if an entry of an extension is longer than the rest, or has no name where one belongs.
func CheckTLVs(extension []byte) error {
	for rest := extension; len(rest) > 0; {
		t, value, n := nextTLV(rest)
		ok := n > 0
		if ok && t >= TLVMetadata && t <= TLVDetail && t != TLVMessage {
			_, _, ok = NamedTLV(value)
		}
		if !ok {
			return &Error{Code: CodeProtocol, Reason: "the extension of a frame has a malformed entry"}
		}
		rest = rest[n:]
	}
	return nil
}

// Entry returns the value of the first entry of type t, as a view.
func Entry(extension []byte, t TLV) (value []byte, ok bool) {
	for typ, v := range TLVs(extension) {
		if typ == t {
			return v, true
		}
	}
	return nil, false
}

// RemoveEntries appends the entries of extension to dst, without padding and those of type t.
func RemoveEntries(dst, extension []byte, t TLV) []byte {
	for typ, v := range TLVs(extension) {
		if typ != t {
			dst = AppendTLV(dst, typ, v)
		}
	}
	return dst
}

// HasExtension reports whether a PUB has an extension.
func (f Frame) HasExtension() bool { return f[7] != 0 }

// Extension returns the extension of a PUB from Split, which is a part of f.
func (f Frame) Extension() []byte {
	if f[7] == longExtension {
		extension, _, _ := f.parts()
		return extension
	}
	return f[PubHeaderSize : PubHeaderSize+int(f[7])*4]
}

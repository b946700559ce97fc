package native

import (
	"encoding/binary"
	"fmt"

	"example.com/ferry"
)

// ByName is the tag number of the PUBs of a stored subscription. Their extension has the name of the tag, so that tags of the past
// need no number.
const ByName = 0xffffffff

// Bounds of stored messages, in bytes.
const (
	MaxKey         = 255     // the longest key
	MaxID          = 128     // the longest idempotency key
	StoredOverhead = 4 << 10 // by how much a PUB of a stored subscription may exceed the maximum frame, because the node adds entries
)

// maxDeadLetterReason is the longest reason in an entry of type TLVDeadLetter, in bytes.
const maxDeadLetterReason = 512

// Start is the place in a stream where a subscription begins.
type Start uint8

// The places. If a durable exists already, its subscription begins where the durable is.
const (
	StartLive     Start = 0 // with a durable, StartNew. Without one, the subscription is not stored: messages come from their publishers
	StartNew      Start = 1 // messages that are stored from now on
	StartFirst    Start = 2 // the oldest message
	StartSequence Start = 3 // the message with the sequence number in SubFrame.Value, or the next one
	StartTime     Start = 4 // the first message that was stored at the time in SubFrame.Value or later
)

// Stored says where in a stream a message is.
type Stored struct {
	Tag        string
	Sequence   uint64 // from 1
	Deliveries uint32 // how many times the message was delivered before
}

// StoredPub is what the extension of a PUB with tag number ByName says. Tag, Key and ID are parts of the frame.
type StoredPub struct {
	Tag        []byte
	Key        []byte // messages with one key keep their order; nil means that the tag is the key
	ID         []byte // idempotency key; nil means none
	Sequence   uint64
	Deliveries uint32
}

// AppendStoredPub appends a PUB of a stored subscription. Its tag number is ByName; h.Tag is ignored. extension has the entries that
// belong to the message. Padding is left out, and so are entries that the function writes itself: tag, sequence and deliveries.
func AppendStoredPub(dst []byte, h PubHeader, s Stored, extension, payload []byte) []byte {
	const numbers = 2*tlvHeader + 8 + 4
	n := len(dst)
	h.Tag = ByName
	dst = appendPubHeader(dst, h)
	long := tlvHeader+len(s.Tag)+numbers+len(extension) > MaxPubExtension
	if long {
		dst = append(dst, 0, 0, 0, 0)
	}
	start := len(dst)
	dst = AppendTLV(dst, TLVTagName, s.Tag)
	dst = binary.BigEndian.AppendUint64(append(dst, byte(TLVSequence), 0, 8), s.Sequence)
	if s.Deliveries > 0 {
		dst = binary.BigEndian.AppendUint32(append(dst, byte(TLVDeliveries), 0, 4), s.Deliveries)
	}
	for t, value := range TLVs(extension) {
		if t != TLVTagName && t != TLVSequence && t != TLVDeliveries {
			dst = AppendTLV(dst, t, value)
		}
	}
	dst = append(dst, "\x00\x00\x00"[:(start-len(dst))&3]...)
	words := (len(dst) - start) / 4
	if long {
		dst[n+7] = longExtension
		binary.BigEndian.PutUint32(dst[start-4:], uint32(words))
	} else {
		dst[n+7] = byte(words)
	}
	return seal(append(dst, payload...), n)
}

// ParseStored reads the extension of a PUB from Split whose tag number is ByName.
func ParseStored(f Frame) (s StoredPub, err error) {
	extension := f.Extension()
	for len(extension) > 0 {
		t, value, n := nextTLV(extension)
		if n == 0 {
			return s, &Error{Code: CodeProtocol, Reason: "the extension of a stored PUB has a malformed entry"}
		}
		extension = extension[n:]
		switch {
		case t == TLVTagName:
			s.Tag = value
		case t == TLVSequence && len(value) == 8:
			s.Sequence = binary.BigEndian.Uint64(value)
		case t == TLVDeliveries && len(value) == 4:
			s.Deliveries = binary.BigEndian.Uint32(value)
		case t == TLVKey:
			s.Key = value
		case t == TLVID:
			s.ID = value
		}
	}
	if len(s.Tag) == 0 || s.Sequence == 0 {
		return s, &Error{Code: CodeProtocol, Reason: fmt.Sprintf("stored PUB with tag %q and sequence number %d: both must be there", s.Tag, s.Sequence)}
	}
	return s, nil
}

// AppendMessageTLVs appends the entries of a message that a client publishes: its key, if it has one, and its idempotency key.
// Key has at most MaxKey bytes, ID at most MaxID.
func AppendMessageTLVs(dst []byte, m *ferry.Message) []byte {
	if len(m.Key) > 0 {
		dst = AppendTLV(dst, TLVKey, m.Key)
	}
	if m.ID != "" {
		dst = AppendTLV(dst, TLVID, m.ID)
	}
	return dst
}

// DeadLetter says where a dead letter comes from, and why it is one.
type DeadLetter struct {
	Stream     string // at most 255 bytes
	Sequence   uint64 // of the message in Stream
	Deliveries uint32 // how many times it was delivered
	Tag        string // that it was published on
	Reason     string // of the last failure; at most 512 bytes are kept
}

// AppendDeadLetter appends the entry of d. It cuts a long reason.
func AppendDeadLetter(dst []byte, d DeadLetter) []byte {
	reason := cutText(d.Reason, maxDeadLetterReason)
	n := 1 + len(d.Stream) + 8 + 4 + 2 + len(d.Tag) + len(reason)
	dst = append(dst, byte(TLVDeadLetter), byte(n>>8), byte(n), byte(len(d.Stream)))
	dst = binary.BigEndian.AppendUint64(append(dst, d.Stream...), d.Sequence)
	return append(appendText(binary.BigEndian.AppendUint32(dst, d.Deliveries), d.Tag), reason...)
}

// ParseDeadLetter reads the value of an entry of type TLVDeadLetter.
func ParseDeadLetter(value []byte) (d DeadLetter, ok bool) {
	stream, rest, ok := NamedTLV(value)
	if !ok {
		return d, false
	}
	r := fieldReader{b: rest}
	d = DeadLetter{Stream: string(stream), Sequence: r.u64(), Deliveries: r.u32(), Tag: r.text()}
	d.Reason = string(r.b)
	return d, !r.failed
}

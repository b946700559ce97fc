package ferry

import "fmt"

// Type is the format of a payload. The numbers are part of the native wire (docs/native.md).
type Type uint8

const (
	Raw      Type = 0 // opaque bytes without readable fields
	Y3       Type = 1 // Y3 as written by y3-codec-golang
	Y3N      Type = 2 // Y3 as used by YoMo's frames
	CBOR     Type = 3 // RFC 8949
	JSON     Type = 4 // RFC 8259
	Protobuf Type = 5
	BSON     Type = 6
	MsgPack  Type = 7

	LastType         Type = MsgPack // the last type that ferry defines
	FirstPrivateType Type = 128     // 128 to 255 belong to formats from outside this module
)

var typeNames = [...]string{"raw", "y3", "y3n", "cbor", "json", "protobuf", "bson", "msgpack"}

// String returns the name of the type on the command line.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("type(%d)", uint8(t))
}

// ParseType returns the type with the name that String returns. Formats and codecs have the same names.
func ParseType(name string) (Type, error) {
	for i, n := range typeNames {
		if n == name {
			return Type(i), nil
		}
	}
	return 0, fmt.Errorf("ferry: unknown type %q: want one of %v", name, typeNames)
}

// SourceID is the node's number for one connected client. 0 means none.
type SourceID uint32

// Message is a message that a source publishes and a function observes.
//
// A Handler borrows Payload and Key: they are valid until Handle returns. To keep them longer, call Detach or Clone. Detach copies
// nothing, but the result must be released. Clone copies both into garbage-collected memory. Send copies both, so the caller may
// reuse them after Send has returned.
type Message struct {
	Tag     string   // topic; '/' separates levels
	Type    Type     // format of Payload
	Payload []byte   // valid until Handle returns, see above
	Time    int64    // Unix time in nanoseconds at the source. Send replaces 0 with the current time; up to 32 consecutive messages share one reading of the clock
	Source  SourceID // publisher of the message, 0 if the message comes from a stream; the node sets it, Send ignores it
	To      SourceID // 0 addresses every observer of Tag; any other number addresses only that client

	Key []byte // the messages of a stream with one key keep their order; at most 255 bytes. Without a key, those of one tag do
	ID  string // idempotency key: of the messages of a tag with one ID a stream stores the first; at most 128 bytes

	// Send ignores these. They are 0 unless the message comes from a stream.
	Sequence   uint64 // position in the stream, from 1
	Deliveries uint32 // how many times the message was delivered before, to any member of the durable

	owner Owner
}

// Owner is reference-counted memory that contains a borrowed Payload.
type Owner interface {
	Retain()
	Release()
}

// Borrowed returns m with o as the owner of the memory that contains Payload. A nil o means garbage-collected memory. Then
// Detach and Release do nothing.
func (m Message) Borrowed(o Owner) Message {
	m.owner = o
	return m
}

// Detach returns m with a Payload that stays valid until Release. Call Release on the returned Message exactly once. Detach
// copies nothing.
func (m *Message) Detach() Message {
	if m.owner != nil {
		m.owner.Retain()
	}
	return *m
}

// Release releases the Payload of a Message that Detach returned.
func (m *Message) Release() {
	if m.owner != nil {
		m.owner.Release()
		m.owner = nil
	}
	m.Payload, m.Key = nil, nil
}

// Clone returns a copy of m. The copy has its own Payload and Key.
func (m *Message) Clone() Message {
	c := *m
	c.Payload, c.Key = append([]byte(nil), m.Payload...), append([]byte(nil), m.Key...)
	c.owner = nil
	return c
}

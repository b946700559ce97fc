package ferry

import "fmt"

// Type is the format of a payload. The numbers are part of the native wire (docs/native.md).
type Type uint8

const (
	Raw      Type = 0 // opaque bytes without readable fields
	Y3       Type = 1 // Y3 as y3-codec-golang writes it
	Y3N      Type = 2 // Y3 as YoMo's frames use it
	CBOR     Type = 3 // RFC 8949
	JSON     Type = 4 // RFC 8259
	Protobuf Type = 5
	BSON     Type = 6
	MsgPack  Type = 7

	LastType         Type = MsgPack // the last type that ferry defines
	FirstPrivateType Type = 128     // 128 to 255 belong to formats from outside this module
)

var typeNames = [...]string{"raw", "y3", "y3n", "cbor", "json", "protobuf", "bson", "msgpack"}

// String returns the name that the command line uses.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("type(%d)", uint8(t))
}

// ParseType is the inverse of String. The names of formats and codecs are the same.
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

// Message is what a source publishes and a function observes.
//
// Payload is borrowed: in a Handler it is valid until Handle returns. To keep it longer, call Detach (no copy, must be
// released) or Clone (a copy, garbage collected). Send copies it, so a Payload may be reused when Send has returned.
type Message struct {
	Tag     string   // topic, '/' separates levels
	Type    Type     // format of Payload
	Payload []byte   // borrowed, see above
	Time    int64    // Unix time in nanoseconds at the source; Send replaces 0 by the current time, which up to eight messages in a row share
	Source  SourceID // publisher; set by the node, ignored by Send
	To      SourceID // 0 means every observer of Tag; otherwise only the client with that number

	owner Owner
}

// Owner is reference-counted memory that a borrowed Payload lies in.
type Owner interface {
	Retain()
	Release()
}

// Borrowed returns m with o as the owner of the memory that its Payload lies in. A nil o means garbage collected memory, for
// which Detach and Release do nothing.
func (m Message) Borrowed(o Owner) Message {
	m.owner = o
	return m
}

// Detach returns m with a Payload that stays valid until Release is called on the returned Message, exactly once. It copies
// nothing.
func (m *Message) Detach() Message {
	if m.owner != nil {
		m.owner.Retain()
	}
	return *m
}

// Release ends the use of a Message that Detach returned.
func (m *Message) Release() {
	if m.owner != nil {
		m.owner.Release()
		m.owner = nil
	}
	m.Payload = nil
}

// Clone returns a copy of m with a Payload of its own.
func (m *Message) Clone() Message {
	c := *m
	c.Payload = append([]byte(nil), m.Payload...)
	c.owner = nil
	return c
}

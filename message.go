package ferry

import "fmt"

// Type says what a payload's bytes are. The numbers are part of the native wire (docs/native.md).
type Type uint8

const (
	Raw      Type = 0 // opaque bytes: no field of it can be read
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

// String returns the name the command line uses.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("type(%d)", uint8(t))
}

// ParseType is the inverse of String; it also serves a format's or codec's Name.
func ParseType(name string) (Type, error) {
	for i, n := range typeNames {
		if n == name {
			return Type(i), nil
		}
	}
	return 0, fmt.Errorf("ferry: unknown type %q: want one of %v", name, typeNames)
}

// SourceID is the address of one connected client, given out by the node. 0 means none.
type SourceID uint32

// Message is what a source publishes and a function observes.
//
// Payload is borrowed: in a Handler it is valid until Handle returns. Whoever keeps it longer calls Detach (no copy, must
// be released) or Clone (a copy, garbage collected). Send copies, so a Payload may be reused as soon as Send returns.
type Message struct {
	Tag     string   // topic, '/' separates levels
	Type    Type     // what Payload's bytes are
	Payload []byte   // borrowed, see above
	Time    int64    // Unix time in nanoseconds at the source; Send fills in 0, up to eight sent in a row alike
	Source  SourceID // who published it; set by the node, ignored by Send
	To      SourceID // 0: to all who observe Tag; else only to that source (backflow)

	owner Owner
}

// Owner is reference-counted memory that a borrowed Payload lies in.
type Owner interface {
	Retain()
	Release()
}

// Borrowed returns m with its Payload marked as lying in memory that o counts references to. A nil o means garbage
// collected memory, for which Detach and Release cost nothing.
func (m Message) Borrowed(o Owner) Message {
	m.owner = o
	return m
}

// Detach returns m so that its Payload stays valid until Release is called on the returned Message, exactly once.
// It copies nothing.
func (m *Message) Detach() Message {
	if m.owner != nil {
		m.owner.Retain()
	}
	return *m
}

// Release gives back what Detach kept.
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

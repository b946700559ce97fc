package field

import "errors"

// ErrNotFound means that a message has no value at a path.
var ErrNotFound = errors.New("field: not found")

// Kind is the kind of the value at a Span, as far as the encoded bytes show the kind.
type Kind uint8

const (
	Missing   Kind = iota // there is no value; Kind of the zero Span
	Untyped               // bytes without a type on the wire (a Y3 primitive, a protobuf length-delimited field)
	Null                  // null, nil, undefined
	Bool                  // true or false
	Int                   // an integer of any sign
	Float                 // a floating-point number
	Text                  // a UTF-8 string
	Bytes                 // a byte string
	List                  // an array or slice
	Map                   // an object, map or node
	Extension             // a tagged or extension item that no other Kind describes
)

// Span is where a value lies in a message. All offsets are bytes from the message's start. A Span is valid until the
// message changes. data[Head:End] is the item with its header. data[Off:End] is the content: a text without quotes or
// length, a container without its opening header. Off equals Head for a scalar without a separate header (a CBOR
// integer, a JSON number). Span has only four fields because the compiler keeps structs of up to four fields in
// registers.
type Span struct {
	Head, Off, End int
	Kind           Kind
}

// Found reports whether the span has a value.
func (s Span) Found() bool { return s.Kind != Missing }

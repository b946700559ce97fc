package field

import "errors"

// ErrNotFound means that a message has no value at a path.
var ErrNotFound = errors.New("field: not found")

// Kind is the kind of the value at a Span, as far as the bytes show it.
type Kind uint8

const (
	Missing   Kind = iota // no value: the zero Span
	Untyped               // bytes without a type on the wire (a Y3 primitive, a protobuf length-delimited field)
	Null                  // null, nil, undefined
	Bool                  // true or false
	Int                   // an integer, negative or not
	Float                 // a floating-point number
	Text                  // a UTF-8 string
	Bytes                 // a byte string
	List                  // an array or slice
	Map                   // an object, map or node
	Extension             // a tagged or extension item that none of the above describes
)

// Span is where a value lies in a message, in byte offsets from the message's start. It is valid while the bytes are
// unchanged. data[Head:End] is the item with its header. data[Off:End] is its content: text without quotes or length, a
// container without its opening header. Off equals Head where a scalar has no separate header (a CBOR integer, a JSON
// number). Span has four fields because the compiler keeps structs of up to four in registers.
type Span struct {
	Head, Off, End int
	Kind           Kind
}

// Found reports whether there is a value at the span.
func (s Span) Found() bool { return s.Kind != Missing }

package field

import "errors"

// ErrNotFound says that a message holds nothing at a path.
var ErrNotFound = errors.New("field: not found")

// Kind says what stands at a Span, as far as the bytes tell.
type Kind uint8

const (
	Missing   Kind = iota // nothing there: the zero Span
	Untyped               // bytes whose type the wire does not carry (a Y3 primitive, a protobuf length-delimited field)
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

// Span says where a value lies in a message, in byte offsets from the message's start. It is valid as long as the bytes
// it was found in. data[Head:End] is the item with its header; data[Off:End] is its content: text without quotes or
// length, a container without its opening header; where a scalar has no separate header (a CBOR integer, a JSON number),
// Off equals Head. It has four members, as the compiler keeps structs of up to four in registers.
type Span struct {
	Head, Off, End int
	Kind           Kind
}

// Found reports whether there is anything at the span.
func (s Span) Found() bool { return s.Kind != Missing }

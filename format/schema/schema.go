package schema

import "example.com/ferry/field"

// Message is the shape of one message, or of a node within one.
type Message struct {
	Name   string // of the type, for error messages
	Fields []Field
}

// Field is one field of a Message.
type Field struct {
	Name     string
	Number   int      // the Y3 key or the protobuf field number
	Type     Type     //
	Repeated bool     // a list of Type
	Message  *Message // the fields within, of a Nested one; it may be the message itself
}

// Type is how the bytes of a field are to be read.
type Type uint8

// The types of a Field. Those from Sint32 on exist in protobuf only.
const (
	Bytes Type = iota
	String
	Bool
	Int32
	Uint32
	Int64
	Uint64
	Float32
	Float64
	Nested // a Y3 node, a protobuf message
	Sint32 // zigzag
	Sint64
	Fixed32
	Fixed64
	Sfixed32
	Sfixed64
)

var fieldTypes = [...]field.Type{
	Bytes: field.ByteString, String: field.String, Bool: field.Boolean, Int32: field.Int32, Uint32: field.Uint32,
	Int64: field.Int64, Uint64: field.Uint64, Float32: field.Float32, Float64: field.Float64, Nested: field.AnyType,
	Sint32: field.Int32, Sint64: field.Int64, Fixed32: field.Uint32, Fixed64: field.Uint64, Sfixed32: field.Int32,
	Sfixed64: field.Int64,
}

// Field returns the type of the values that a field of type t holds; AnyType for a Nested one.
func (t Type) Field() field.Type { return fieldTypes[t] }

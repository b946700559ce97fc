package schema

import (
	"slices"
	"sync/atomic"

	"example.com/ferry/field"
)

// Message is the shape of one message, or of one node in a message. It must not change after its first use.
type Message struct {
	Name     string // name of the type, for error messages
	Fields   []Field
	MapEntry bool // the message is an entry of a protobuf map: its fields are key and value

	byNumber atomic.Pointer[map[int]int] // index in Fields by number; nil until the first search in many fields
}

// maxLinear is the number of fields up to which a search compares them one by one.
const maxLinear = 16

// IndexOfNumber returns the index in Fields of the field with this number, or -1. The time does not grow with the number
// of fields: a message from outside has any number of records, and none may have a number of the schema.
func (m *Message) IndexOfNumber(number int) int {
	if len(m.Fields) <= maxLinear {
		return slices.IndexFunc(m.Fields, func(f Field) bool { return f.Number == number })
	}
	table := m.byNumber.Load()
	if table == nil {
		table = new(map[int]int)
		*table = make(map[int]int, len(m.Fields))
		for i := len(m.Fields) - 1; i >= 0; i-- { // the first of two fields with one number counts
			(*table)[m.Fields[i].Number] = i
		}
		m.byNumber.Store(table)
	}
	if i, ok := (*table)[number]; ok {
		return i
	}
	return -1
}

// Field is one field of a Message.
type Field struct {
	Name     string
	Number   int // Y3 key or protobuf field number
	Type     Type
	Repeated bool     // the field is a list of Type
	Message  *Message // shape of a Nested field; a recursive type refers to itself

	JSONName string // name in ProtoJSON; empty for the lowerCamelCase form of Name
	Oneof    string // name of the protobuf oneof that the field is a member of
	Enum     *Enum  // values of an Int32 that is an enum in protobuf
	Expanded bool   // a protobuf writer gives each number of the list a record of its own: [packed = false]
}

// Enum is a protobuf enum.
type Enum struct {
	Name   string
	Values []EnumValue // two names may have one number
}

// EnumValue is one name of an Enum.
type EnumValue struct {
	Name   string
	Number int32
}

// Root returns a field for a whole message of the shape m. The field is Nested, without a name and a number.
func (m *Message) Root() Field { return Field{Type: Nested, Message: m} }

// Child returns the field that step leads to from f. For a list, step is the index of an item. For a message, step is a
// name, a Y3 key or a field number. If the schema has no such field, Child returns false.
func (f *Field) Child(step field.Step) (Field, bool) {
	switch {
	case f.Repeated:
		item := *f
		item.Repeated = false
		return item, step.Index >= 0
	case f.Message == nil:
		return Field{}, false
	}
	fields := f.Message.Fields
	i := slices.IndexFunc(fields, func(c Field) bool { return c.Name == step.Name })
	if number := max(step.Key, step.Index); i < 0 && number >= 0 {
		i = f.Message.IndexOfNumber(number)
	}
	if i < 0 {
		return Field{}, false
	}
	return fields[i], true
}

// String describes the type of f: float32, list of string, Noise.
func (f *Field) String() string {
	text := f.Type.String()
	if f.Type == Nested && f.Message != nil && f.Message.Name != "" {
		text = f.Message.Name
	}
	if f.Repeated {
		return "list of " + text
	}
	return text
}

// Type is the type and encoding of a field.
type Type uint8

// The types of a Field. The types from Sint32 on exist only in protobuf. For Y3, Type.Field returns their equivalents.
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
	Nested // a Y3 node or a protobuf message
	Sint32 // zigzag varint
	Sint64 // zigzag varint
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

// Field returns the type of the values in a field of type t. For Nested it returns AnyType.
func (t Type) Field() field.Type { return fieldTypes[t] }

var typeNames = [...]string{
	Bytes: "bytes", String: "string", Bool: "bool", Int32: "int32", Uint32: "uint32", Int64: "int64", Uint64: "uint64",
	Float32: "float32", Float64: "float64", Nested: "message", Sint32: "sint32", Sint64: "sint64", Fixed32: "fixed32",
	Fixed64: "fixed64", Sfixed32: "sfixed32", Sfixed64: "sfixed64",
}

// String returns the name of t in a hint file.
func (t Type) String() string { return typeNames[t] }

package format

import "example.com/ferry/field"

// Format reads one wire format. Implementations are stateless values, safe for use by many goroutines; none of their
// methods panics, reads outside data, or allocates more than len(data) bytes, whatever data holds.
//
// Optional interfaces, found by type assertion: Viewer, Patcher, Editor, Caster, Incremental, Encoder, schema.Reader.
type Format interface {
	// Name is the format's name on the command line: y3, y3n, cbor, json, bson, msgpack, protobuf.
	Name() string

	// Descriptor returns the format's constant properties: its number on the wire and how its messages may be read.
	Descriptor() Descriptor

	// Lookup returns where the value at p lies. It reads no further than the hit and validates nothing that it does not
	// need: bytes from outside go through Validate first. A missing key gives field.ErrNotFound; data that ends early
	// io.ErrUnexpectedEOF, which may be wrapped; anything else malformed *SyntaxError. Where a map holds a key twice the
	// first one is found.
	Lookup(data []byte, p field.Path) (field.Span, error)

	// Find is Lookup for all paths of s in one pass: spans[i] is where s.Paths()[i] lies, the zero Span if it is missing
	// (which is no error). len(spans) must be at least s.Len(). The pass ends as soon as all are found.
	Find(data []byte, s *field.Set, spans []field.Span) error

	// Value decodes the scalar at s, a span that Lookup, Find or Walk returned for the same data. as is AnyType or the
	// type to read it as, which formats that carry no types (Y3) need. Text and Bytes alias data unless they hold
	// escapes.
	Value(data []byte, s field.Span, as field.Type) (field.Value, error)

	// Validate reads the whole message once. It gives nil only for data that every consumer reads the same way.
	Validate(data []byte, o Options) error

	// Walk calls visit for each value in order, containers before what they hold. It stops at visit's first error and
	// returns it; SkipChildren is no error.
	Walk(data []byte, visit Visit) error
}

// Visit sees one value: its step in the parent (Name for a text key, Index for a list item or an integer key, Key for a
// Y3 key; a negative integer key has its decimal text as Name), how deep it lies (the outermost value is 0), and where.
// The members of the step that say nothing are "" and -1.
type Visit func(step field.Step, depth int, s field.Span) error

// Viewer is a Format that gives a text faster than Value does, where it stands in the message as it is. A predicate over
// text fields spends most of its time in Value without it.
type Viewer interface {
	// View returns the content of the Text at s, a span that Lookup, Find or Walk returned for the same data, as a part
	// of data; false if s is no Text, or one with escapes or in chunks, which Value must decode.
	View(data []byte, s field.Span) (text []byte, ok bool)
}

// Patcher is a Format that can change a value without decoding the message.
type Patcher interface {
	// Patch writes data to dst with the value at p replaced by v, and returns the extended dst. The lengths of all
	// enclosing containers are put right. dst must not overlap data. v takes the kind of what it replaces; a value that
	// cannot is a *TypeError, and on any error dst is returned as it was.
	Patch(dst, data []byte, p field.Path, v field.Value) ([]byte, error)

	// PatchInPlace overwrites the value at p in data itself, if v takes exactly as many bytes. It returns false and
	// leaves data untouched if it does not.
	PatchInPlace(data []byte, p field.Path, v field.Value) (bool, error)
}

// Caster is a Patcher whose bytes carry no types: a value that has more than one encoding must be cast before Patch.
type Caster interface {
	// Cast returns v as what Patch writes as a type: the Untyped value of its bytes, or, in a format whose fields tell how
	// wide they are, a value of that type. One out of the type's range, or of another kind, is a *TypeError.
	Cast(v field.Value, as field.Type) (field.Value, error)
}

// Options bounds what Validate accepts. The zero value is strict.
type Options struct {
	MaxDepth      int  // containers within containers; 0 means 32, and no format takes more than 256
	BoundsOnly    bool // structure and lengths only: not UTF-8, not duplicate keys, nor what else consumers read differently
	FoldKeys      bool // also refuse keys of one map that differ only in ASCII case, as EdgeX consumers do not agree on them
	AllowTrailing bool // bytes after the message are no error; of no effect in Y3 and protobuf, whose messages end with data
}

// Depth returns MaxDepth or its default.
func (o Options) Depth() int {
	if o.MaxDepth > 0 {
		return o.MaxDepth
	}
	return 32
}

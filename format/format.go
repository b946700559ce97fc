package format

import "example.com/ferry/field"

// Format reads one wire format. Implementations are stateless values and safe for use by many goroutines. For any data,
// their methods do not panic, do not read outside data, and do not allocate more than len(data) bytes.
//
// Optional interfaces, found by type assertion: Viewer, Patcher, Editor, Caster, Incremental, Encoder, schema.Reader.
type Format interface {
	// Name is the format's name on the command line: y3, y3n, cbor, json, bson, msgpack, protobuf.
	Name() string

	// Descriptor returns the format's constant properties: its number on the wire and how its messages may be read.
	Descriptor() Descriptor

	// Lookup returns where the value at p lies. It stops at the value and validates only the bytes that it needs, so
	// bytes from outside must pass Validate first. A missing key gives field.ErrNotFound. Data that ends early gives
	// io.ErrUnexpectedEOF, possibly wrapped. Other malformed data gives *SyntaxError. If a map has a key twice, the
	// first one counts.
	Lookup(data []byte, p field.Path) (field.Span, error)

	// Find is Lookup for all paths of s in one pass. spans[i] becomes the span of s.Paths()[i], or the zero Span if the
	// value is missing, which is not an error. len(spans) must be at least s.Len(). The pass ends once all paths are
	// found.
	Find(data []byte, s *field.Set, spans []field.Span) error

	// Value decodes the scalar at s, a span that Lookup, Find or Walk returned for the same data. as is AnyType, or the
	// type to read the value as, which formats without types on the wire (Y3) need. Text and Bytes are views into data
	// unless they contain escapes.
	Value(data []byte, s field.Span, as field.Type) (field.Value, error)

	// Validate reads the whole message once. It returns nil only for data that all consumers read the same way.
	Validate(data []byte, o Options) error

	// Walk calls visit for each value in order, containers before their content. It stops at visit's first error and
	// returns it, except for SkipChildren.
	Walk(data []byte, visit Visit) error
}

// Visit receives one value: its step in the parent, its depth (0 for the outermost value) and its span. The step has a
// Name for a text key, an Index for a list item or an integer key, and a Key for a Y3 key. A negative integer key has
// its decimal text as Name. Unused fields of the step are "" and -1.
type Visit func(step field.Step, depth int, s field.Span) error

// Viewer is a Format that returns the content of a text faster than Value does. Predicates over text fields would
// otherwise spend most of their time in Value.
type Viewer interface {
	// View returns the content of the Text at s as a part of data. s is a span that Lookup, Find or Walk returned for
	// the same data. ok is false if s is not a Text, or a Text with escapes or in chunks, which Value must decode.
	View(data []byte, s field.Span) (text []byte, ok bool)
}

// Patcher is a Format that changes a value without decoding the message.
type Patcher interface {
	// Patch appends data to dst with the value at p replaced by v, and returns the extended dst. It updates the lengths
	// of all enclosing containers. dst must not overlap data. v is converted to the kind of the old value; if that is
	// impossible the error is a *TypeError. On any error dst is returned unchanged.
	Patch(dst, data []byte, p field.Path, v field.Value) ([]byte, error)

	// PatchInPlace overwrites the value at p in data itself if v takes exactly as many bytes. Otherwise it returns
	// false and leaves data unchanged.
	PatchInPlace(data []byte, p field.Path, v field.Value) (bool, error)
}

// Caster is a Patcher for a format without types on the wire. A value with more than one encoding must be cast before
// Patch.
type Caster interface {
	// Cast returns v in the form that Patch writes for type as: an Untyped value with the encoded bytes, or, if the
	// format's fields have a width of their own, a value of that type. A value out of the type's range or of another
	// kind gives a *TypeError.
	Cast(v field.Value, as field.Type) (field.Value, error)
}

// Options sets what Validate accepts. The zero value is strict.
type Options struct {
	MaxDepth      int  // containers within containers; 0 means 32, and no format takes more than 256
	BoundsOnly    bool // check structure and lengths only, not UTF-8, duplicate keys or other data that consumers read differently
	FoldKeys      bool // also refuse keys of one map that differ only in ASCII case, because EdgeX consumers disagree on them
	AllowTrailing bool // allow bytes after the message; no effect in Y3 and protobuf, whose messages end with data
}

// Depth returns MaxDepth or its default.
func (o Options) Depth() int {
	if o.MaxDepth > 0 {
		return o.MaxDepth
	}
	return 32
}

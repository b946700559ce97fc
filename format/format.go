package format

import "example.com/ferry/field"

// Format reads messages of one wire format. An implementation is a stateless value and safe for use by many goroutines.
// For any data, its methods do not panic, do not read outside data, and do not allocate more than len(data) bytes.
//
// A Format may also implement these interfaces, which are found by type assertion: Viewer, Patcher, Editor, Caster,
// Incremental, Encoder, Masker, schema.Reader.
type Format interface {
	// Name is the format's name on the command line: y3, y3n, cbor, json, bson, msgpack, protobuf.
	Name() string

	// Descriptor returns the format's constant properties, such as its payload type.
	Descriptor() Descriptor

	// Lookup returns where the value at p lies. It stops at the value and validates only the bytes that it reads, so
	// call Validate first for bytes from outside. A missing key gives field.ErrNotFound. Data that ends early gives
	// io.ErrUnexpectedEOF, possibly wrapped. Other malformed data gives *SyntaxError. If a key occurs twice in a map,
	// Lookup uses its first value.
	Lookup(data []byte, p field.Path) (field.Span, error)

	// Find looks up all paths of s in one pass. It stores the span of s.Paths()[i] in spans[i]. A missing value is not
	// an error: its span is the zero Span. len(spans) must be at least s.Len(). The pass ends once all paths are found.
	Find(data []byte, s *field.Set, spans []field.Span) error

	// Value decodes the scalar at s. Lookup, Find or Walk must have returned s for the same data. The result has the
	// type want; AnyType means the type that the bytes carry. A format without types on the wire (Y3) needs a type
	// other than AnyType. Text and Bytes are views into data unless they contain escapes.
	Value(data []byte, s field.Span, want field.Type) (field.Value, error)

	// Validate reads the whole message once. It returns nil only if all consumers read the data the same way.
	Validate(data []byte, o Options) error

	// Walk calls visit for each value in the order of the message. A container precedes its content. Walk stops at the
	// first error that visit returns and returns this error. SkipChildren does not stop it.
	Walk(data []byte, visit Visit) error
}

// Visit is called with one value: its step in the parent, its depth (0 for the outermost value) and its span. The step
// has a Name for a text key, an Index for a list item or an integer key, and a Key for a Y3 key. The Name of a negative
// integer key is its decimal text. Unused fields of the step are "" and -1.
type Visit func(step field.Step, depth int, s field.Span) error

// Viewer is a Format that returns the content of a text faster than Value does. A Matcher uses it, because Value would
// take most of the time of a predicate over text fields.
type Viewer interface {
	// View returns the content of the Text at s as a part of data. Lookup, Find or Walk must have returned s for the
	// same data. ok is false if s is not a Text, or if the text has escapes or chunks. Call Value for such a text.
	View(data []byte, s field.Span) (text []byte, ok bool)
}

// NumberReader is a Format with numbers that Value does not return as field.AnyType. A Matcher compares them as numbers.
type NumberReader interface {
	// Number returns the number at s: an Int, or a Float with its digits. Lookup, Find or Walk must have returned s for
	// the same data. ok is false for a value that Value decodes, and for one that is no number.
	Number(data []byte, s field.Span) (v field.Value, ok bool)
}

// Patcher is a Format that can change a value without decoding the message.
type Patcher interface {
	// Patch appends data to dst, with v in place of the value at p, and returns the extended dst. It updates the
	// lengths of all enclosing containers. dst must not overlap data. v is converted to the kind of the old value. If
	// the conversion is impossible, the error is a *TypeError. On any error dst is returned unchanged.
	Patch(dst, data []byte, p field.Path, v field.Value) ([]byte, error)

	// PatchInPlace overwrites the value at p in data itself if the encoded v has exactly as many bytes. Otherwise it
	// returns false and leaves data unchanged.
	PatchInPlace(data []byte, p field.Path, v field.Value) (bool, error)
}

// Caster is a Patcher for a format without types on the wire. If a value has more than one encoding, call Cast before
// Patch.
type Caster interface {
	// Cast returns v in the form that Patch writes for the type want. This form is an Untyped value with the encoded
	// bytes, or a value of type want if the format's fields have a width of their own. If v has another kind or is out
	// of the type's range, the error is a *TypeError.
	Cast(v field.Value, want field.Type) (field.Value, error)
}

// Options configures what Validate accepts. The zero value is strict.
type Options struct {
	MaxDepth      int  // maximum nesting of containers; 0 means 32, and no format accepts more than 256
	BoundsOnly    bool // check only structure and lengths; ignore invalid UTF-8, duplicate keys and other data that consumers read differently
	FoldKeys      bool // refuse a map with two keys that differ only in ASCII case, because EdgeX consumers read such keys differently
	AllowTrailing bool // accept bytes after the message; no effect in Y3 and protobuf, where a message ends with data
}

// Depth returns MaxDepth, or 32 if MaxDepth is not set.
func (o Options) Depth() int {
	if o.MaxDepth > 0 {
		return o.MaxDepth
	}
	return 32
}

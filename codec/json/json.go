package json

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"

	"example.com/ferry/codec"
	"example.com/ferry/codec/internal/carries"
	"example.com/ferry/codec/internal/years"
)

// Codec encodes JSON, RFC 8259. Its zero value is ready for use.
type Codec struct{}

var (
	_ codec.Codec   = Codec{}
	_ codec.Checker = Codec{}
)

var rules = carries.Rules{
	Name: "json",
	Tags: []string{"json"},
	Self: []reflect.Type{reflect.TypeFor[json.Marshaler](), textMarshaler},
	Key:  func(t reflect.Type) bool { return carries.TextOrInteger(t) || t.Implements(textMarshaler) },
}

var textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()

// Name returns json.
func (Codec) Name() string { return "json" }

// Marshal encodes v as encoding/json does: it obeys struct tags, calls Marshalers, and escapes <, > and &.
func (Codec) Marshal(v any) ([]byte, error) {
	var data []byte
	err := years.Check(v)
	if err == nil {
		data, err = json.Marshal(v)
	}
	if err != nil {
		return nil, fmt.Errorf("json: marshal %T: %w", v, err)
	}
	return data, nil
}

// Unmarshal decodes one JSON value into the variable that v points to.
func (Codec) Unmarshal(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("json: unmarshal %d bytes into %T: %w", len(data), v, err)
	}
	return nil
}

// CheckType refuses types with channels, functions, complex numbers, interfaces with methods, and maps with other keys than texts and
// integers.
func (Codec) CheckType(t reflect.Type) error { return rules.Check(t) }

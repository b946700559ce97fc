package json

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"example.com/ferry/codec"
	"example.com/ferry/codec/internal/carries"
	"example.com/ferry/codec/internal/exact"
	"example.com/ferry/codec/internal/years"
	formatjson "example.com/ferry/format/json"
)

// Codec encodes JSON, RFC 8259. Its zero value is ready for use.
type Codec struct{}

var (
	_ codec.Codec    = Codec{}
	_ codec.Appender = Codec{}
	_ codec.Checker  = Codec{}
)

var rules = carries.Rules{
	Name: "json",
	Tags: []string{"json"},
	Self: []reflect.Type{reflect.TypeFor[json.Marshaler](), textMarshaler},
	Key:  func(t reflect.Type) bool { return carries.TextOrInteger(t) || t.Implements(textMarshaler) },
}

var floats = &exact.Rules{Format: formatjson.Format{}, Tags: []string{"json"}, FoldCase: true, Decimal: true, MayRound: mayRound}

// mayRound reports whether data has a run of more digits than a float keeps, or an exponent.
func mayRound(data []byte, single bool) bool {
	longest := 15
	if single {
		longest = 7
	}
	digits := 0
	for _, c := range data {
		switch {
		case c-'0' <= 9:
			if digits++; digits > longest {
				return true
			}
		case c != '.':
			digits = 0
		}
	}
	return false
}

var textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()

// Name returns json.
func (Codec) Name() string { return "json" }

// Marshal encodes v as encoding/json does: it obeys struct tags, calls Marshalers, and escapes <, > and &.
func (c Codec) Marshal(v any) ([]byte, error) { return c.Append(nil, v) }

// Append appends the encoding of v to dst, without a copy between them.
func (Codec) Append(dst []byte, v any) ([]byte, error) {
	e := encoders.Get().(*encoder)
	e.dst = dst
	err := years.Check(v)
	if err == nil {
		err = e.Encode(v)
	}
	data := e.dst
	e.dst = nil
	encoders.Put(e)
	if err != nil {
		return dst, fmt.Errorf("json: marshal %T: %w", v, err)
	}
	return data[:len(data)-1], nil // without the line break behind it
}

// encoder is an encoder that appends to dst.
type encoder struct {
	*json.Encoder
	dst []byte
}

func (e *encoder) Write(p []byte) (int, error) {
	e.dst = append(e.dst, p...)
	return len(p), nil
}

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.Encoder = json.NewEncoder(e)
	return e
}}

// Unmarshal decodes one JSON value into the variable that v points to. In a variable of type any, a number is a float64,
// rounded as encoding/json does.
func (Codec) Unmarshal(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if err == nil {
		err = floats.Check(data, v)
	}
	if err != nil {
		return fmt.Errorf("json: unmarshal %d bytes into %T: %w", len(data), v, err)
	}
	return nil
}

// CheckType refuses types with channels, functions, complex numbers, interfaces with methods, and maps with other keys than texts and
// integers.
func (Codec) CheckType(t reflect.Type) error { return rules.Check(t) }

package cbor

import (
	"bytes"
	"encoding"
	"fmt"
	"math"
	"reflect"

	"github.com/fxamacker/cbor/v2"

	"example.com/ferry/codec"
	"example.com/ferry/codec/internal/carries"
	"example.com/ferry/codec/internal/exact"
	"example.com/ferry/codec/internal/years"
	formatcbor "example.com/ferry/format/cbor"
)

// Codec encodes CBOR, RFC 8949. Its zero value is ready for use.
type Codec struct{}

var (
	_ codec.Codec    = Codec{}
	_ codec.Appender = Codec{}
	_ codec.Checker  = Codec{}
)

var rules = carries.Rules{
	Name: "cbor",
	Tags: []string{"cbor", "json"},
	Self: []reflect.Type{reflect.TypeFor[cbor.Marshaler](), reflect.TypeFor[encoding.BinaryMarshaler]()},
}

var floats = &exact.Rules{Format: formatcbor.Format{}, Tags: []string{"cbor", "json"}, MayRound: mayRound}

// mayRound reports whether data may have an integer of eight bytes (RFC 8949, section 3), or any number that a float32
// rounds.
func mayRound(data []byte, single bool) bool {
	return single || bytes.IndexByte(data, 0x1b) >= 0 || bytes.IndexByte(data, 0x3b) >= 0
}

var enc = must(cbor.EncOptions{
	Sort:          cbor.SortNone, // field order of the struct, as EdgeX writes it
	ShortestFloat: cbor.ShortestFloatNone,
	IndefLength:   cbor.IndefLengthForbidden,
	Time:          cbor.TimeRFC3339Nano,
	TimeTag:       cbor.EncTagRequired, // RFC 8949, section 3.4.1
}.UserBufferEncMode())

var dec = must(cbor.DecOptions{
	DupMapKey:         cbor.DupMapKeyEnforcedAPF,
	IndefLength:       cbor.IndefLengthAllowed, // valid CBOR that some devices send
	MaxNestedLevels:   32,
	MaxArrayElements:  math.MaxInt32, // each element has at least one byte, so the input's length is the limit
	MaxMapPairs:       math.MaxInt32,
	FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
	UTF8:              cbor.UTF8RejectInvalid,
	DefaultMapType:    reflect.TypeFor[map[string]any](),
}.DecMode())

func must[T any](mode T, err error) T {
	if err != nil {
		panic(err) // two options contradict each other
	}
	return mode
}

// Name returns cbor.
func (Codec) Name() string { return "cbor" }

// Marshal returns the encoding of v.
func (c Codec) Marshal(v any) ([]byte, error) { return c.Append(nil, v) }

// Append appends the encoding of v to dst.
func (Codec) Append(dst []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	err := years.Check(v)
	if err == nil {
		err = enc.MarshalToBuffer(v, buf)
	}
	if err != nil {
		return dst, fmt.Errorf("cbor: marshal %T: %w", v, err)
	}
	return buf.Bytes(), nil
}

// Unmarshal decodes one CBOR item into the variable that v points to.
func (Codec) Unmarshal(data []byte, v any) error {
	err := dec.Unmarshal(data, v)
	if err == nil {
		err = years.Check(v)
	}
	if err == nil {
		err = floats.Check(data, v)
	}
	if err != nil {
		return fmt.Errorf("cbor: unmarshal %d bytes into %T: %w", len(data), v, err)
	}
	return nil
}

// CheckType refuses types with channels, functions, complex numbers and interfaces with methods.
func (Codec) CheckType(t reflect.Type) error { return rules.Check(t) }

package cbor

import (
	"bytes"
	"fmt"
	"math"
	"reflect"

	"github.com/fxamacker/cbor/v2"

	"example.com/ferry/codec"
	"example.com/ferry/codec/internal/years"
)

// Codec is CBOR, RFC 8949. Its zero value is ready.
type Codec struct{}

var (
	_ codec.Codec    = Codec{}
	_ codec.Appender = Codec{}
)

var enc = must(cbor.EncOptions{
	Sort:          cbor.SortNone, // struct order, as EdgeX
	ShortestFloat: cbor.ShortestFloatNone,
	IndefLength:   cbor.IndefLengthForbidden,
	Time:          cbor.TimeRFC3339Nano,
	TimeTag:       cbor.EncTagRequired, // RFC 8949, section 3.4.1
}.UserBufferEncMode())

var dec = must(cbor.DecOptions{
	DupMapKey:         cbor.DupMapKeyEnforcedAPF,
	IndefLength:       cbor.IndefLengthAllowed, // valid CBOR, which some devices send
	MaxNestedLevels:   32,
	MaxArrayElements:  math.MaxInt32, // each element takes a byte, so the input's length is the bound
	MaxMapPairs:       math.MaxInt32,
	FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
	UTF8:              cbor.UTF8RejectInvalid,
	DefaultMapType:    reflect.TypeFor[map[string]any](),
}.DecMode())

func must[T any](mode T, err error) T {
	if err != nil {
		panic(err) // the options contradict each other
	}
	return mode
}

// Name returns cbor.
func (Codec) Name() string { return "cbor" }

// Marshal writes v.
func (c Codec) Marshal(v any) ([]byte, error) { return c.Append(nil, v) }

// Append writes v behind dst.
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

// Unmarshal reads one CBOR item into the variable v points to.
func (Codec) Unmarshal(data []byte, v any) error {
	err := dec.Unmarshal(data, v)
	if err == nil {
		err = years.Check(v)
	}
	if err != nil {
		return fmt.Errorf("cbor: unmarshal %d bytes into %T: %w", len(data), v, err)
	}
	return nil
}

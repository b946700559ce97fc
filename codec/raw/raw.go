package raw

import (
	"bytes"
	"fmt"
	"reflect"

	"example.com/ferry/codec"
)

// Codec encodes a []byte or a *[]byte, and decodes into a *[]byte. Its zero value is ready for use.
type Codec struct{}

var (
	_ codec.Codec    = Codec{}
	_ codec.Appender = Codec{}
	_ codec.Checker  = Codec{}
)

// Name returns raw.
func (Codec) Name() string { return "raw" }

// Marshal returns a copy of v, which must be a []byte or a *[]byte.
func (c Codec) Marshal(v any) ([]byte, error) { return c.Append(nil, v) }

// Append appends the bytes of v to dst. v must be a []byte or a *[]byte.
func (Codec) Append(dst []byte, v any) ([]byte, error) {
	switch data := v.(type) {
	case []byte:
		return append(dst, data...), nil
	case *[]byte:
		if data != nil {
			return append(dst, *data...), nil
		}
	}
	return dst, fmt.Errorf("raw: marshal %T: only []byte and *[]byte that is not nil can be written raw: choose another codec", v)
}

// CheckType accepts []byte and *[]byte.
func (Codec) CheckType(t reflect.Type) error {
	if t == reflect.TypeFor[[]byte]() || t == reflect.TypeFor[*[]byte]() {
		return nil
	}
	return fmt.Errorf("raw: type %v: only []byte can be carried raw: choose another codec", t)
}

// Unmarshal sets the []byte that v points to to a copy of data. v must be a *[]byte.
func (Codec) Unmarshal(data []byte, v any) error {
	p, ok := v.(*[]byte)
	if !ok || p == nil {
		return fmt.Errorf("raw: unmarshal %d bytes into %T: only a *[]byte can hold raw bytes: choose another codec", len(data), v)
	}
	*p = bytes.Clone(data)
	return nil
}

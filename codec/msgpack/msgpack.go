package msgpack

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/tinylib/msgp/msgp"

	"example.com/ferry/codec"
	"example.com/ferry/codec/internal/carries"
	"example.com/ferry/codec/internal/years"
	"example.com/ferry/format"
	wire "example.com/ferry/format/msgpack"
)

// Codec encodes MessagePack. Its zero value is ready for use.
type Codec struct{}

var (
	_ codec.Codec    = Codec{}
	_ codec.Appender = Codec{}
	_ codec.Checker  = Codec{}
)

var rules = carries.Rules{Name: "msgpack", Tags: []string{"msgpack", "json"}, Self: selfEncoders, Key: carries.TextOrInteger}

// Name returns msgpack.
func (Codec) Name() string { return "msgpack" }

// Marshal returns the encoding of v.
func (c Codec) Marshal(v any) ([]byte, error) { return c.Append(nil, v) }

// Append appends the encoding of v to dst.
func (Codec) Append(dst []byte, v any) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil { // a method of v panicked
			out, err = dst, fmt.Errorf("msgpack: marshal %T: panic: %v", v, r)
		}
	}()
	out, err = appendAny(dst, v)
	if err != nil {
		return dst, fmt.Errorf("msgpack: marshal %T: %w", v, err)
	}
	return out, nil
}

func appendAny(dst []byte, v any) ([]byte, error) {
	if m, ok := v.(msgp.Marshaler); ok && !isNil(v) {
		return m.MarshalMsg(dst)
	}
	if err := years.Check(v); err != nil {
		return dst, err
	}
	return appendValue(dst, reflect.ValueOf(v), 0)
}

// Unmarshal decodes one MessagePack item into the variable that v points to.
func (Codec) Unmarshal(data []byte, v any) (err error) {
	defer func() {
		if r := recover(); r != nil { // a method of v panicked
			err = fmt.Errorf("msgpack: unmarshal into %T: panic: %v", v, r)
		}
	}()
	if err := unmarshal(data, v); err != nil {
		return fmt.Errorf("msgpack: unmarshal %d bytes into %T: %w", len(data), v, err)
	}
	return nil
}

func unmarshal(data []byte, v any) error {
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return errors.New("give a pointer that is not nil")
	}
	if err := (wire.Format{}).Validate(data, format.Options{}); err != nil {
		return err
	}
	if m, ok := v.(msgp.Unmarshaler); ok {
		rest, err := m.UnmarshalMsg(data)
		if err == nil && len(rest) > 0 {
			err = fmt.Errorf("UnmarshalMsg left %d bytes unread", len(rest))
		}
		return err
	}
	if _, err := readValue(data, target.Elem()); err != nil {
		return err
	}
	return years.Check(v)
}

// CheckType refuses types with channels, functions, complex numbers, interfaces with methods, and maps with other keys than texts and
// integers.
func (Codec) CheckType(t reflect.Type) error { return rules.Check(t) }

func isNil(v any) bool {
	p := reflect.ValueOf(v)
	return p.Kind() == reflect.Pointer && p.IsNil()
}

package msgpack

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"

	"github.com/vmihailenco/msgpack/v5"

	"example.com/ferry/codec"
	"example.com/ferry/codec/internal/years"
	"example.com/ferry/format"
	wire "example.com/ferry/format/msgpack"
)

// Codec is MessagePack. Its zero value is ready.
type Codec struct{}

var (
	_ codec.Codec    = Codec{}
	_ codec.Appender = Codec{}
)

// tag is the struct tag that counts where there is no msgpack tag.
const tag = "json"

// Name returns msgpack.
func (Codec) Name() string { return "msgpack" }

// Marshal writes v.
func (c Codec) Marshal(v any) ([]byte, error) { return c.Append(nil, v) }

// Append writes v behind dst.
func (Codec) Append(dst []byte, v any) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = dst, panicked("marshal", v, r)
		}
	}()
	buf := bytes.NewBuffer(dst)
	enc := msgpack.NewEncoder(buf)
	enc.UseCompactInts(true)
	enc.SetSortMapKeys(true)
	enc.SetCustomStructTag(tag)
	err = years.Check(v)
	if err == nil {
		err = enc.Encode(v)
	}
	if err != nil {
		return dst, fmt.Errorf("msgpack: marshal %T: %w", v, err)
	}
	return buf.Bytes(), nil
}

// Unmarshal reads one MessagePack item into the variable v points to.
func (Codec) Unmarshal(data []byte, v any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicked("unmarshal into", v, r)
		}
	}()
	if err := unmarshal(data, v); err != nil {
		return fmt.Errorf("msgpack: unmarshal %d bytes into %T: %w", len(data), v, err)
	}
	return nil
}

// panicked is the error for a type that the library panics about: a field it cannot set, an interface with methods.
func panicked(what string, v, reason any) error {
	return fmt.Errorf("msgpack: %s %T: the library cannot handle this type: %v", what, v, reason)
}

func unmarshal(data []byte, v any) error {
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return errors.New("give a pointer that is not nil")
	}
	if err := (wire.Format{}).Validate(data, format.Options{}); err != nil {
		return err
	}
	if err := fits(data, target.Type().Elem()); err != nil {
		return err
	}
	if target.Elem().Kind() == reflect.Interface {
		target.Elem().SetZero() // the library would decode into what it holds
	}
	dec := msgpack.NewDecoder(bytes.NewReader(data))
	dec.SetCustomStructTag(tag)
	if err := dec.Decode(v); err != nil {
		return err
	}
	return years.Check(v)
}

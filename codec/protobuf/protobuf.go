package protobuf

import (
	"errors"
	"fmt"
	"reflect"

	"google.golang.org/protobuf/proto"

	"example.com/ferry/codec"
)

// Codec encodes Protocol Buffers. Its zero value is ready for use.
type Codec struct {
	// Deterministic writes the entries of maps sorted by key, so that equal messages have equal encodings in one version of a program.
	// It does not use the methods of vtprotobuf, which write maps in any order.
	Deterministic bool
}

var (
	_ codec.Codec    = Codec{}
	_ codec.Appender = Codec{}
	_ codec.Checker  = Codec{}
)

// maxDepth bounds how deep messages nest. Other implementations have the same limit.
const maxDepth = 100

// Name returns protobuf.
func (Codec) Name() string { return "protobuf" }

// Marshal encodes v, which must be a proto.Message.
func (c Codec) Marshal(v any) ([]byte, error) { return c.Append(nil, v) }

// Append appends the encoding of v to dst. v must be a proto.Message.
func (c Codec) Append(dst []byte, v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok || isNil(v) {
		return dst, fmt.Errorf("protobuf: marshal %T: only a proto.Message that is not nil can be written: generate one with protoc-gen-go, or choose another codec", v)
	}
	out, done, err := []byte(nil), false, error(nil)
	if !c.Deterministic {
		out, done, err = appendGenerated(dst, m)
	}
	if !done {
		out, err = proto.MarshalOptions{Deterministic: c.Deterministic}.MarshalAppend(dst, m)
	}
	if err != nil {
		return dst, fmt.Errorf("protobuf: marshal %T: %w", v, err)
	}
	return out, nil
}

// Unmarshal decodes a message into v, which must be a proto.Message or a pointer to one. If the pointer points to a nil
// message, Unmarshal allocates one. The old fields of the message are discarded.
func (Codec) Unmarshal(data []byte, v any) error {
	m, err := target(v)
	if err != nil {
		return fmt.Errorf("protobuf: unmarshal %d bytes into %T: %w", len(data), v, err)
	}
	done, err := unmarshalGenerated(data, m)
	if !done {
		err = proto.UnmarshalOptions{RecursionLimit: maxDepth}.Unmarshal(data, m)
	}
	if err != nil {
		return fmt.Errorf("protobuf: unmarshal %d bytes into %T: %w", len(data), v, err)
	}
	return nil
}

var messageType = reflect.TypeFor[proto.Message]()

// CheckType accepts types that implement proto.Message.
func (Codec) CheckType(t reflect.Type) error {
	if t != nil && t.Implements(messageType) && t.Kind() != reflect.Interface {
		return nil
	}
	return fmt.Errorf("protobuf: type %v is no proto.Message: generate one with protoc-gen-go, or choose another codec", t)
}

// target returns the message that v is, or that v points to.
func target(v any) (proto.Message, error) {
	if m, ok := v.(proto.Message); ok && !isNil(v) {
		return m, nil
	}
	p := reflect.ValueOf(v)
	if p.Kind() == reflect.Pointer && !p.IsNil() && p.Elem().Kind() == reflect.Pointer {
		at := p.Elem()
		if _, ok := at.Interface().(proto.Message); ok {
			if at.IsNil() {
				at.Set(reflect.New(at.Type().Elem()))
			}
			return at.Interface().(proto.Message), nil
		}
	}
	return nil, errors.New("only a proto.Message that is not nil, or a pointer to one, can be read into: generate one with protoc-gen-go, or choose another codec")
}

// isNil reports whether v is a nil pointer.
func isNil(v any) bool {
	p := reflect.ValueOf(v)
	return p.Kind() == reflect.Pointer && p.IsNil()
}

package msgpack

import (
	"bytes"
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/tinylib/msgp/msgp"
)

// maxDepth bounds how deep values nest. A ring of pointers exceeds it and gives an error.
const maxDepth = 10_000

var errDepth = errors.New("the value nests deeper than 10000 levels: is it a ring of pointers?")

// Types written for vmihailenco/msgpack implement marshaler and unmarshaler.
type (
	marshaler   interface{ MarshalMsgpack() ([]byte, error) }
	unmarshaler interface{ UnmarshalMsgpack([]byte) error }
)

var timeType = reflect.TypeFor[time.Time]()

var selfEncoders = []reflect.Type{
	reflect.TypeFor[msgp.Marshaler](), reflect.TypeFor[marshaler](),
	reflect.TypeFor[encoding.BinaryMarshaler](), reflect.TypeFor[encoding.TextMarshaler](),
}

var selfEncoding sync.Map // maps a reflect.Type to a bool, the result of encodesItself

// encodesItself reports whether t, or a pointer to t, has a method that appendSelf calls.
func encodesItself(t reflect.Type) bool {
	if known, ok := selfEncoding.Load(t); ok {
		return known.(bool)
	}
	itself := false
	for _, m := range selfEncoders {
		itself = itself || t.Implements(m) || reflect.PointerTo(t).Implements(m)
	}
	selfEncoding.Store(t, itself)
	return itself
}

// appendValue appends the encoding of v to dst. depth is the number of values around v.
func appendValue(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	if depth > maxDepth {
		return dst, errDepth
	}
	if !v.IsValid() {
		return msgp.AppendNil(dst), nil
	}
	if v.Type() == timeType {
		return msgp.AppendTimeExt(dst, v.Interface().(time.Time)), nil
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice:
		if v.IsNil() {
			return msgp.AppendNil(dst), nil
		}
	}
	if out, done, err := appendSelf(dst, v); done {
		return out, err
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return appendValue(dst, v.Elem(), depth+1)
	case reflect.Bool:
		return msgp.AppendBool(dst, v.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if n := v.Int(); n < 0 {
			return msgp.AppendInt64(dst, n), nil
		}
		return msgp.AppendUint64(dst, uint64(v.Int())), nil // an unsigned form may be shorter: 255 fits in a uint8, but not in an int8
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return msgp.AppendUint64(dst, v.Uint()), nil
	case reflect.Float32:
		return msgp.AppendFloat32(dst, float32(v.Float())), nil
	case reflect.Float64:
		return msgp.AppendFloat64(dst, v.Float()), nil
	case reflect.String:
		return msgp.AppendString(dst, v.String()), nil
	case reflect.Slice, reflect.Array:
		return appendList(dst, v, depth)
	case reflect.Map:
		return appendMap(dst, v, depth)
	case reflect.Struct:
		return appendStruct(dst, v, depth)
	}
	return dst, fmt.Errorf("MessagePack has nothing for %v", v.Type())
}

// appendSelf encodes v with its own method. If v has none, done is false.
func appendSelf(dst []byte, v reflect.Value) (out []byte, done bool, err error) {
	if !encodesItself(v.Type()) || v.Kind() == reflect.Interface {
		return dst, false, nil
	}
	switch { // a pointer type also has the methods of the type it points to
	case v.Kind() == reflect.Pointer:
	case v.CanAddr():
		v = v.Addr()
	default:
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		v = p
	}
	switch m := v.Interface().(type) {
	case msgp.Marshaler:
		out, err = m.MarshalMsg(dst)
		return out, true, err
	case marshaler:
		text, err := m.MarshalMsgpack()
		return append(dst, text...), true, err
	case encoding.BinaryMarshaler:
		text, err := m.MarshalBinary()
		return msgp.AppendBytes(dst, text), true, err
	case encoding.TextMarshaler:
		text, err := m.MarshalText()
		return msgp.AppendBytes(dst, text), true, err
	}
	return dst, false, nil
}

func appendList(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	if err := checkCount(v.Len()); err != nil {
		return dst, err
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		if v.Kind() == reflect.Array && !v.CanAddr() {
			p := reflect.New(v.Type()).Elem()
			p.Set(v)
			v = p
		}
		return msgp.AppendBytes(dst, v.Bytes()), nil
	}
	dst = msgp.AppendArrayHeader(dst, uint32(v.Len()))
	var err error
	for i := range v.Len() {
		if dst, err = appendValue(dst, v.Index(i), depth+1); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// appendMap appends the encoding of a map. The pairs are sorted, so that equal maps have equal encodings. Text keys are
// sorted by their bytes, other keys by the bytes of their encoding.
func appendMap(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	if err := checkCount(v.Len()); err != nil {
		return dst, err
	}
	type pair struct {
		key   []byte
		text  string // the key if it is a text, otherwise ""
		value reflect.Value
	}
	pairs := make([]pair, 0, v.Len())
	var keys []byte
	for each := v.MapRange(); each.Next(); {
		start := len(keys)
		var err error
		if keys, err = appendValue(keys, each.Key(), depth+1); err != nil {
			return dst, err
		}
		p := pair{key: keys[start:], value: each.Value()}
		if v.Type().Key().Kind() == reflect.String {
			p.text = each.Key().String()
		}
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Or(cmp.Compare(a.text, b.text), bytes.Compare(a.key, b.key)) })
	dst = msgp.AppendMapHeader(dst, uint32(len(pairs)))
	for _, p := range pairs {
		var err error
		if dst, err = appendValue(append(dst, p.key...), p.value, depth+1); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func appendStruct(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	p, err := planOf(v.Type())
	if err != nil {
		return dst, err
	}
	n := 0
	for i := range p.fields {
		if !p.fields[i].omitted(v) {
			n++
		}
	}
	dst = msgp.AppendMapHeader(dst, uint32(n))
	for i := range p.fields {
		f := &p.fields[i]
		if f.omitted(v) {
			continue
		}
		dst = msgp.AppendString(dst, f.name)
		value, ok := fieldByIndex(v, f.index)
		if !ok {
			dst = msgp.AppendNil(dst)
			continue
		}
		dst, err = appendValue(dst, value, depth+1)
		switch {
		case err == errDepth: //nolint:errorlint // not wrapped: up to ten thousand levels would each add their field
			return dst, err
		case err != nil:
			return dst, fmt.Errorf("%w, in field %v.%s", err, v.Type(), f.name)
		}
	}
	return dst, nil
}

// omitted reports whether f has the option omitempty and is empty in v.
func (f *planField) omitted(v reflect.Value) bool {
	if !f.omitEmpty {
		return false
	}
	value, ok := fieldByIndex(v, f.index)
	if !ok {
		return true
	}
	switch value.Kind() {
	case reflect.String, reflect.Slice, reflect.Map, reflect.Array:
		return value.Len() == 0
	}
	return value.IsZero()
}

func checkCount(n int) error {
	if uint64(n) > math.MaxUint32 {
		return fmt.Errorf("%d elements: MessagePack counts up to %d", n, uint32(math.MaxUint32))
	}
	return nil
}

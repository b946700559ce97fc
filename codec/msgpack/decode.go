package msgpack

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/tinylib/msgp/msgp"
)

// readValue decodes the item at the start of data into v, and returns the bytes after the item. data was validated.
func readValue(data []byte, v reflect.Value) ([]byte, error) {
	kind := msgp.NextType(data)
	if kind == msgp.NilType {
		v.SetZero()
		return msgp.ReadNilBytes(data)
	}
	if v.Type() == timeType {
		t, rest, err := readTime(data)
		v.Set(reflect.ValueOf(t))
		return rest, err
	}
	if rest, done, err := readSelf(data, v); done {
		return rest, err
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return readValue(data, v.Elem())
	case reflect.Interface:
		if v.NumMethod() > 0 {
			return data, fmt.Errorf("an interface with methods, %v, cannot be decoded into", v.Type())
		}
		value, rest, err := readAny(data)
		if err == nil {
			v.Set(reflect.ValueOf(value))
		}
		return rest, err
	case reflect.Bool:
		b, rest, err := msgp.ReadBoolBytes(data)
		v.SetBool(b)
		return rest, err
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, rest, err := msgp.ReadInt64Bytes(data)
		if err == nil && v.OverflowInt(n) {
			err = fmt.Errorf("%d is out of range of %v", n, v.Type())
		}
		v.SetInt(n)
		return rest, err
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		n, rest, err := msgp.ReadUint64Bytes(data)
		if err == nil && v.OverflowUint(n) {
			err = fmt.Errorf("%d is out of range of %v", n, v.Type())
		}
		v.SetUint(n)
		return rest, err
	case reflect.Float32, reflect.Float64:
		f, rest, err := readFloat(data)
		if err == nil && v.Kind() == reflect.Float32 && float64(float32(f)) != f && !math.IsNaN(f) {
			err = fmt.Errorf("%v is no float32", f)
		}
		v.SetFloat(f)
		return rest, err
	case reflect.String:
		text, rest, err := readBytes(data)
		v.SetString(string(text))
		return rest, err
	case reflect.Slice, reflect.Array:
		return readList(data, v)
	case reflect.Map:
		return readMap(data, v)
	case reflect.Struct:
		return readStruct(data, v)
	}
	return data, fmt.Errorf("MessagePack has nothing for %v", v.Type())
}

// readSelf decodes with v's own method. If v has none, done is false.
func readSelf(data []byte, v reflect.Value) (rest []byte, done bool, err error) {
	if !v.CanAddr() || v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		return data, false, nil
	}
	switch m := v.Addr().Interface().(type) {
	case msgp.Unmarshaler:
		rest, err = m.UnmarshalMsg(data)
		return rest, true, err
	case unmarshaler:
		if rest, err = skipItem(data); err == nil {
			err = m.UnmarshalMsgpack(bytes.Clone(data[:len(data)-len(rest)]))
		}
		return rest, true, err
	case encoding.BinaryUnmarshaler:
		var text []byte
		if text, rest, err = readBytes(data); err == nil {
			err = m.UnmarshalBinary(text)
		}
		return rest, true, err
	case encoding.TextUnmarshaler:
		var text []byte
		if text, rest, err = readBytes(data); err == nil {
			err = m.UnmarshalText(text)
		}
		return rest, true, err
	}
	return data, false, nil
}

// skipItem returns the bytes after the item at the start of data.
var skipItem = msgp.Skip

// readBytes returns the content of the text or byte string at the start of data. content is a part of data.
func readBytes(data []byte) (content, rest []byte, err error) {
	if msgp.NextType(data) == msgp.BinType {
		return msgp.ReadBytesZC(data)
	}
	return msgp.ReadStringZC(data)
}

// readFloat decodes a number. An integer that a float64 would round is an error.
func readFloat(data []byte) (float64, []byte, error) {
	switch msgp.NextType(data) {
	case msgp.IntType:
		n, rest, err := msgp.ReadInt64Bytes(data)
		f := float64(n)
		if err == nil && (f >= 1<<63 || int64(f) != n) {
			err = fmt.Errorf("%d is no float64", n)
		}
		return f, rest, err
	case msgp.UintType:
		n, rest, err := msgp.ReadUint64Bytes(data)
		f := float64(n)
		if err == nil && (f >= 1<<64 || uint64(f) != n) {
			err = fmt.Errorf("%d is no float64", n)
		}
		return f, rest, err
	}
	return msgp.ReadFloat64Bytes(data)
}

func readList(data []byte, v reflect.Value) ([]byte, error) {
	if v.Type().Elem().Kind() == reflect.Uint8 && msgp.NextType(data) != msgp.ArrayType {
		content, rest, err := readBytes(data)
		switch {
		case err != nil:
			return data, err
		case v.Kind() == reflect.Slice:
			v.SetBytes(append([]byte{}, content...))
		case len(content) != v.Len():
			return data, fmt.Errorf("%d bytes do not fit %v", len(content), v.Type())
		default:
			reflect.Copy(v, reflect.ValueOf(content))
		}
		return rest, nil
	}
	count, rest, err := msgp.ReadArrayHeaderBytes(data)
	n := int(count) // each element has at least one byte, so n is at most the input's size
	switch {
	case err != nil:
		return data, err
	case v.Kind() == reflect.Slice:
		room := min(n, 1+maxFirstRoom/max(int(v.Type().Elem().Size()), 1))
		v.Set(reflect.MakeSlice(v.Type(), room, room))
	case n > v.Len():
		return data, fmt.Errorf("a list of %d does not fit %v", n, v.Type())
	default:
		v.SetZero()
	}
	for i := range n {
		if i == v.Len() { // this is a slice
			v.Grow(1)
			v.SetLen(min(n, v.Cap()))
		}
		if rest, err = readValue(rest, v.Index(i)); err != nil {
			return data, fmt.Errorf("%w, at index %d", err, i)
		}
	}
	return rest, nil
}

// maxFirstRoom bounds the memory in bytes that a list has before its first element is decoded: an element of one byte may
// become a large Go value, and the first one may already be an error. The room grows with the elements that are decoded.
const maxFirstRoom = 64 << 10

// maxFirstPairs is the number of pairs for which a map has room before its first pair is decoded.
const maxFirstPairs = 256

func readMap(data []byte, v reflect.Value) ([]byte, error) {
	count, rest, err := msgp.ReadMapHeaderBytes(data)
	if err != nil {
		return data, err
	}
	t := v.Type()
	if v.IsNil() {
		v.Set(reflect.MakeMapWithSize(t, min(int(count), maxFirstPairs)))
	}
	for range count {
		key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		if rest, err = readValue(rest, key); err != nil {
			return data, fmt.Errorf("%w, in a key", err)
		}
		if rest, err = readValue(rest, value); err != nil {
			return data, fmt.Errorf("%w, at key %v", err, key)
		}
		v.SetMapIndex(key, value)
	}
	return rest, nil
}

// readStruct sets the fields of v that data has. It discards keys without a field.
func readStruct(data []byte, v reflect.Value) ([]byte, error) {
	p, err := planOf(v.Type())
	if err != nil {
		return data, err
	}
	count, rest, err := msgp.ReadMapHeaderBytes(data)
	if err != nil {
		return data, err
	}
	for range count {
		var f *planField
		if msgp.NextType(rest) == msgp.StrType {
			var name []byte
			if name, rest, err = msgp.ReadStringZC(rest); err != nil {
				return data, err
			}
			f = p.byName[string(name)]
		} else if rest, err = skipItem(rest); err != nil {
			return data, err
		}
		if f == nil {
			if rest, err = skipItem(rest); err != nil {
				return data, err
			}
			continue
		}
		field, err := fieldByIndexAlloc(v, f.index)
		if err != nil {
			return data, err
		}
		if rest, err = readValue(rest, field); err != nil {
			return data, fmt.Errorf("%w, in field %v.%s", err, v.Type(), f.name)
		}
	}
	return rest, nil
}

// readAny decodes an item into the Go type that the encoding names.
func readAny(data []byte) (any, []byte, error) {
	switch msgp.NextType(data) {
	case msgp.NilType:
		rest, err := msgp.ReadNilBytes(data)
		return nil, rest, err
	case msgp.BoolType:
		return asAny(msgp.ReadBoolBytes(data))
	case msgp.IntType, msgp.UintType:
		return readInteger(data)
	case msgp.Float32Type:
		return asAny(msgp.ReadFloat32Bytes(data))
	case msgp.Float64Type:
		return asAny(msgp.ReadFloat64Bytes(data))
	case msgp.StrType:
		return asAny(msgp.ReadStringBytes(data))
	case msgp.BinType:
		return asAny(msgp.ReadBytesBytes(data, nil))
	case msgp.ArrayType:
		var list []any
		rest, err := readList(data, reflect.ValueOf(&list).Elem())
		return list, rest, err
	case msgp.MapType:
		var m map[string]any
		rest, err := readMap(data, reflect.ValueOf(&m).Elem())
		return m, rest, err
	}
	return asAny(readTime(data))
}

func asAny[T any](v T, rest []byte, err error) (any, []byte, error) { return v, rest, err }

// readInteger decodes an integer into the Go type that its first byte names. MessagePack specification, section "int
// format family".
func readInteger(data []byte) (any, []byte, error) {
	n, rest, err := msgp.ReadInt64Bytes(data)
	switch data[0] {
	case 0xcc:
		return uint8(n), rest, err
	case 0xcd:
		return uint16(n), rest, err
	case 0xce:
		return uint32(n), rest, err
	case 0xcf:
		return asAny(msgp.ReadUint64Bytes(data))
	case 0xd1:
		return int16(n), rest, err
	case 0xd2:
		return int32(n), rest, err
	case 0xd3:
		return n, rest, err
	}
	return int8(n), rest, err
}

// readTime decodes a timestamp into a time in UTC. MessagePack specification, section "Timestamp extension type".
func readTime(data []byte) (time.Time, []byte, error) {
	var seconds, nanos int64
	var rest []byte
	switch {
	case bytes.HasPrefix(data, []byte{0xd6, 0xff}) && len(data) >= 6:
		seconds, rest = int64(binary.BigEndian.Uint32(data[2:])), data[6:]
	case bytes.HasPrefix(data, []byte{0xd7, 0xff}) && len(data) >= 10:
		both := binary.BigEndian.Uint64(data[2:])
		seconds, nanos, rest = int64(both&(1<<34-1)), int64(both>>34), data[10:]
	case bytes.HasPrefix(data, []byte{0xc7, 12, 0xff}) && len(data) >= 15:
		seconds, nanos, rest = int64(binary.BigEndian.Uint64(data[7:])), int64(binary.BigEndian.Uint32(data[3:])), data[15:]
	default:
		return time.Time{}, data, errors.New("an item that is no timestamp does not fit time.Time")
	}
	if nanos > 999_999_999 {
		return time.Time{}, data, fmt.Errorf("a timestamp of %d nanoseconds: at most 999999999", nanos)
	}
	return time.Unix(seconds, nanos).UTC(), rest, nil
}

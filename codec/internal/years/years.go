// Package years checks the rule of all codecs for a time.Time: its year is from 0 to 9999, in its own zone and in UTC.
//
// JSON and CBOR write a time as RFC 3339, which has no other years. Because every codec has this rule, a time that one
// codec accepts is accepted by all.
//
//	if err := years.Check(v); err != nil {
//		return err
//	}
package years

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"
)

// maxDepth bounds how deep values nest. A ring of pointers exceeds it and gives an error.
const maxDepth = 10_000

var errDepth = errors.New("the value nests deeper than 10000 levels: is it a ring of pointers?")

var timeType = reflect.TypeFor[time.Time]()

// Check returns an error if v is, or contains, a time.Time outside the years 0 to 9999. It looks into pointers,
// interfaces, lists, maps and exported fields. It does not look into types with their own encoding. For a type that
// cannot contain a time, the cost is one map access.
func Check(v any) error {
	if v == nil {
		return nil
	}
	return checkValue(reflect.ValueOf(v), 0)
}

func checkValue(v reflect.Value, depth int) error {
	if !v.IsValid() || !mayHoldTime(v.Type()) {
		return nil
	}
	if depth > maxDepth {
		return errDepth
	}
	if v.Type() == timeType {
		return checkTime(v.Interface().(time.Time))
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return checkValue(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := checkValue(v.Index(i), depth+1); err != nil {
				return err
			}
		}
	case reflect.Map:
		for each := v.MapRange(); each.Next(); {
			if err := errors.Join(checkValue(each.Key(), depth+1), checkValue(each.Value(), depth+1)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !isEncodedField(v.Type().Field(i)) {
				continue
			}
			if err := checkValue(v.Field(i), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkTime(t time.Time) error {
	for _, year := range []int{t.Year(), t.UTC().Year()} {
		if year < 0 || year > 9999 {
			return fmt.Errorf("the year %d is outside 0 to 9999, which is what RFC 3339 can write", year)
		}
	}
	return nil
}

var knownTypes sync.Map // maps a reflect.Type to a bool, the result of searchType

// mayHoldTime reports whether a value of type t may contain a time.Time. That is so if t is or contains time.Time or an
// interface type.
func mayHoldTime(t reflect.Type) bool {
	if may, ok := knownTypes.Load(t); ok {
		return may.(bool)
	}
	may := searchType(t, map[reflect.Type]bool{})
	knownTypes.Store(t, may)
	return may
}

func searchType(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t == timeType || t.Kind() == reflect.Interface {
		return true
	}
	if seen[t] || encodesItself(t) {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return searchType(t.Elem(), seen)
	case reflect.Map:
		return searchType(t.Key(), seen) || searchType(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); isEncodedField(f) && searchType(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// isEncodedField reports whether codecs write the field f. For an embedded struct, codecs write its fields.
func isEncodedField(f reflect.StructField) bool {
	return f.IsExported() || f.Anonymous && f.Type != timeType
}

var encoders = []reflect.Type{
	reflect.TypeFor[encoding.TextMarshaler](),
	reflect.TypeFor[encoding.BinaryMarshaler](),
	reflect.TypeFor[json.Marshaler](),
	reflect.TypeFor[interface{ MarshalCBOR() ([]byte, error) }](),
	reflect.TypeFor[interface{ MarshalBSON() ([]byte, error) }](),
	reflect.TypeFor[interface{ MarshalBSONValue() (byte, []byte, error) }](),
	reflect.TypeFor[interface{ MarshalMsg([]byte) ([]byte, error) }](),
	reflect.TypeFor[interface{ MarshalMsgpack() ([]byte, error) }](),
}

// encodesItself reports whether t has a method for its own encoding. time.Time and *time.Time have such methods, but do
// not count.
func encodesItself(t reflect.Type) bool {
	base := t
	for base.Kind() == reflect.Pointer {
		base = base.Elem()
	}
	if base == timeType {
		return false
	}
	for _, e := range encoders {
		if t.Implements(e) {
			return true
		}
	}
	return false
}

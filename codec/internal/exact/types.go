package exact

import (
	"encoding"
	"encoding/json"
	"reflect"
	"sync"
)

// floats says which floats a type contains.
type floats uint8

const (
	none   floats = 0
	double floats = 1
	single floats = 2
)

var knownTypes sync.Map // maps a reflect.Type to its floats

// floatsIn returns the floats that a variable of type t holds, without those in interfaces and in types that decode
// themselves.
func floatsIn(t reflect.Type) floats {
	if t == nil {
		return none
	}
	if known, ok := knownTypes.Load(t); ok {
		return known.(floats)
	}
	found := search(t, map[reflect.Type]bool{})
	knownTypes.Store(t, found)
	return found
}

func search(t reflect.Type, seen map[reflect.Type]bool) (found floats) {
	if seen[t] || decodesItself(t) {
		return none
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Float64:
		return double
	case reflect.Float32:
		return single
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return search(t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if f.IsExported() || f.Anonymous {
				found |= search(f.Type, seen)
			}
		}
	}
	return found
}

var decoders = []reflect.Type{
	reflect.TypeFor[encoding.TextUnmarshaler](),
	reflect.TypeFor[encoding.BinaryUnmarshaler](),
	reflect.TypeFor[json.Unmarshaler](),
	reflect.TypeFor[interface{ UnmarshalCBOR(data []byte) error }](),
	reflect.TypeFor[interface{ UnmarshalBSON(data []byte) error }](),
	reflect.TypeFor[interface {
		UnmarshalBSONValue(typ byte, data []byte) error
	}](),
}

// decodesItself reports whether t, or a pointer to it, has a method that decodes it.
func decodesItself(t reflect.Type) bool {
	for _, d := range decoders {
		if t.Implements(d) || t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(d) {
			return true
		}
	}
	return false
}

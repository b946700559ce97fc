package msgpack

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/vmihailenco/msgpack/v5"

	"example.com/ferry/field"
	"example.com/ferry/format"
	wire "example.com/ferry/format/msgpack"
)

// fits reports what the library would put into a variable of type t in part only, or as something else: an integer out
// of range, a list where a struct is, an extension where none is asked for. data is valid.
func fits(data []byte, t reflect.Type) error {
	var types []reflect.Type // of the values around the one at hand; nil where anything goes
	return wire.Format{}.Walk(data, func(step field.Step, depth int, s field.Span) error {
		at := t
		if types = types[:depth]; depth > 0 {
			var err error
			if at, err = child(types[depth-1], step); err != nil {
				return fmt.Errorf("%w at offset %d", err, s.Head)
			}
		}
		if at = checked(at); at == nil {
			return format.SkipChildren
		}
		types = append(types, at)
		ok := true
		switch s.Kind {
		case field.Int:
			v, err := wire.Format{}.Value(data, s, field.AnyType)
			if err != nil {
				return err
			}
			ok = holds(at, v)
		case field.List:
			ok = at.Kind() != reflect.Struct
		case field.Extension:
			ok = false
		}
		if !ok {
			return fmt.Errorf("the %v at offset %d does not fit %v", s.Kind, s.Head, at)
		}
		return nil
	})
}

// child is the type of the value at step in a value of type t.
func child(t reflect.Type, step field.Step) (reflect.Type, error) {
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return t.Elem(), nil
	case reflect.Map:
		if !holdsKey(t.Key(), step) {
			return nil, fmt.Errorf("the key %v does not fit %v", step, t.Key())
		}
		return t.Elem(), nil
	case reflect.Struct:
		return fieldsOf(t)[step.Name], nil
	}
	return nil, nil
}

// holds reports whether the integer v is in the range of t, if t is an integer's type at all.
func holds(t reflect.Type, v field.Value) bool {
	switch {
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64:
		return !v.Unsigned && !t.OverflowInt(v.Int)
	case t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uintptr:
		return (v.Unsigned || v.Int >= 0) && !t.OverflowUint(uint64(v.Int))
	}
	return true
}

// holdsKey is holds for an integer key, which Walk names by its index or its digits.
func holdsKey(t reflect.Type, step field.Step) bool {
	v := field.Value{Kind: field.Int, Int: int64(step.Index)}
	if step.Index < 0 {
		n, err := strconv.ParseInt(step.Name, 10, 64)
		if v.Int = n; err != nil {
			u, err := strconv.ParseUint(step.Name, 10, 64)
			if err != nil {
				return true // a text: the library refuses it where an integer belongs
			}
			v.Int, v.Unsigned = int64(u), true
		}
	}
	return holds(t, v)
}

// checked is t without its pointers; nil if it holds anything, or reads itself.
func checked(t reflect.Type) reflect.Type {
	for ; t != nil; t = t.Elem() {
		if t.Kind() == reflect.Interface || readsItself(t) || readsItself(reflect.PointerTo(t)) {
			return nil
		}
		if t.Kind() != reflect.Pointer {
			return t
		}
	}
	return nil
}

var readers = []reflect.Type{
	reflect.TypeFor[msgpack.CustomDecoder](), reflect.TypeFor[msgpack.Unmarshaler](),
	reflect.TypeFor[encoding.BinaryUnmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
}

func readsItself(t reflect.Type) bool {
	for _, r := range readers {
		if t.Implements(r) {
			return true
		}
	}
	return false
}

var fieldCache sync.Map // reflect.Type -> map[string]reflect.Type

// fieldsOf returns the types of a struct's fields by the names they have on the wire, those of embedded structs among
// them.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if m, ok := fieldCache.Load(t); ok {
		return m.(map[string]reflect.Type)
	}
	m, depth := map[string]reflect.Type{}, map[string]int{}
	for _, f := range reflect.VisibleFields(t) {
		text := f.Tag.Get("msgpack")
		if text == "" {
			text = f.Tag.Get(tag)
		}
		options := strings.Split(text, ",")
		names := []string{options[0]}
		if options[0] == "" {
			names[0] = f.Name
		}
		for _, o := range options[1:] {
			if alias, ok := strings.CutPrefix(o, "alias:"); ok {
				names = append(names, alias)
			}
		}
		for _, name := range names {
			if d, known := depth[name]; !known || len(f.Index) < d {
				m[name], depth[name] = f.Type, len(f.Index)
			}
		}
	}
	fieldCache.Store(t, m)
	return m
}

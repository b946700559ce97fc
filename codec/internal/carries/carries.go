// Package carries decides from a Go type whether a codec can encode and decode its values.
package carries

import (
	"fmt"
	"reflect"
	"strings"
)

// Rules describe a codec. A kind that no codec has, such as a channel, is refused anyway.
type Rules struct {
	Name string                  // of the codec, for errors
	Tags []string                // struct tags, the first that a field has counts; the name "-" leaves a field out
	Self []reflect.Type          // interfaces of types that encode themselves; their content is not checked
	Key  func(reflect.Type) bool // whether a map may have this type of key; nil allows all
}

// Check returns an error that names the part of t that cannot be carried.
func (r Rules) Check(t reflect.Type) error {
	if t == nil {
		return fmt.Errorf("%s: no type is given", r.Name)
	}
	w := walk{Rules: r, seen: map[reflect.Type]bool{}}
	if reason := w.refuse(t); reason != "" {
		return fmt.Errorf("%s: type %v cannot be carried: %s: choose another codec", r.Name, t, reason)
	}
	return nil
}

type walk struct {
	Rules
	seen map[reflect.Type]bool
}

// refuse returns why t cannot be carried, or "".
func (w walk) refuse(t reflect.Type) string {
	if w.seen[t] || w.encodesItself(t) {
		return ""
	}
	w.seen[t] = true
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
		return fmt.Sprintf("%s has nothing for %v", w.Name, t)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return fmt.Sprintf("%v is an interface with methods, so its type is not known when it is decoded", t)
		}
	case reflect.Map:
		if w.Key != nil && !w.Key(t.Key()) {
			return fmt.Sprintf("%v cannot be the key of a map", t.Key())
		}
		return w.refuse(t.Elem())
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return w.refuse(t.Elem())
	case reflect.Struct:
		return w.refuseFields(t)
	}
	return ""
}

func (w walk) refuseFields(t reflect.Type) string {
	for f := range t.Fields() {
		if w.isLeftOut(f) || !f.IsExported() && !f.Anonymous {
			continue
		}
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if !f.IsExported() && inner.Kind() != reflect.Struct {
			continue
		}
		if reason := w.refuse(f.Type); reason != "" {
			return fmt.Sprintf("field %v.%s: %s", t, f.Name, reason)
		}
	}
	return ""
}

func (w walk) isLeftOut(f reflect.StructField) bool {
	for _, tag := range w.Tags {
		if text, ok := f.Tag.Lookup(tag); ok {
			name, _, _ := strings.Cut(text, ",")
			return name == "-"
		}
	}
	return false
}

// encodesItself reports whether t, or a pointer to it, has a method that encodes it.
func (w walk) encodesItself(t reflect.Type) bool {
	for _, m := range w.Self {
		if t.Kind() != reflect.Interface && (t.Implements(m) || reflect.PointerTo(t).Implements(m)) {
			return true
		}
	}
	return false
}

// TextOrInteger reports whether a value of t is a text or an integer.
func TextOrInteger(t reflect.Type) bool {
	return t.Kind() == reflect.String || t.Kind() >= reflect.Int && t.Kind() <= reflect.Uintptr
}

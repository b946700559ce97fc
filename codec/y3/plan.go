package y3

import (
	"fmt"
	"reflect"
	"strconv"
	"sync"

	"example.com/ferry/field"
)

// plan lists the fields of a struct type that have a key. err is the error in the struct's tags.
type plan struct {
	fields []planField
	err    error
}

type planField struct {
	name  string
	key   int
	index int // index of the field in its struct
}

var plans sync.Map // maps the reflect.Type of a struct to its *plan

func planOf(t reflect.Type) (*plan, error) {
	known, ok := plans.Load(t)
	if !ok {
		known, _ = plans.LoadOrStore(t, newPlan(t))
	}
	p := known.(*plan)
	return p, p.err
}

func newPlan(t reflect.Type) *plan {
	p := &plan{}
	owner := map[int]string{}
	for i := range t.NumField() {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("y3")
		if !ok || tag == "-" {
			continue
		}
		key, err := strconv.ParseUint(tag, 0, 6)
		switch {
		case err != nil || key == 0:
			return &plan{err: fmt.Errorf("y3: field %v.%s has tag %q: want a key from 0x01 to 0x3f", t, f.Name, tag)}
		case !f.IsExported():
			return &plan{err: fmt.Errorf("y3: field %v.%s has a tag and is not exported", t, f.Name)}
		case owner[int(key)] != "":
			return &plan{err: fmt.Errorf("y3: fields %s and %s of %v both have key 0x%02x", owner[int(key)], f.Name, t, key)}
		}
		owner[int(key)] = f.Name
		p.fields = append(p.fields, planField{name: f.Name, key: int(key), index: i})
	}
	if len(p.fields) == 0 {
		return &plan{err: fmt.Errorf(`y3: %v has no field with a tag such as y3:"0x10"`, t)}
	}
	return p
}

// scalar returns the type that encodes values of t in a primitive packet. If a primitive packet cannot hold them,
// scalar returns false.
func scalar(t reflect.Type) (field.Type, bool) {
	switch t.Kind() {
	case reflect.Bool:
		return field.Boolean, true
	case reflect.Int8, reflect.Int16, reflect.Int32:
		return field.Int32, true
	case reflect.Int, reflect.Int64:
		return field.Int64, true
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return field.Uint32, true
	case reflect.Uint, reflect.Uint64:
		return field.Uint64, true
	case reflect.Float32:
		return field.Float32, true
	case reflect.Float64:
		return field.Float64, true
	case reflect.String:
		return field.String, true
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return field.ByteString, true
		}
	}
	return field.AnyType, false
}

func isSlice(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8
}

func indirectType(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// indirect follows pointers and interfaces. For nil it returns the zero reflect.Value.
func indirect(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

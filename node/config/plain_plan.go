package config

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"example.com/ferry/proxy/route"
)

// plan says how a plainReader decodes a type, and what the schema demands of its values.
type plan struct {
	kind     reflect.Kind // Invalid: the type is not read
	typ      reflect.Type
	elem     *plan                // of a list or pointer
	fields   map[string]planField // of a mapping
	required uint64               // bits of fields
	enum     map[string]bool      // nil: any text
	least    *float64             // nil: any number
	remember bool                 // lists of these are kept in a plainMemory
}

// planField is a field of a mapping. bit is its place in the set of fields that a mapping has.
type planField struct {
	plan  *plan
	index []int
	bit   uint64
}

// configPlan is the plan of Config.
var configPlan = sync.OnceValue(func() *plan { return newPlan(reflect.TypeFor[Config](), compiled()) })

// newPlan returns the plan of a type in a place with a schema.
func newPlan(t reflect.Type, schema *jsonschema.Schema) *plan {
	p := &plan{typ: t, remember: t == reflect.TypeFor[route.Rule]()}
	if schema == nil || t == reflect.TypeFor[Filters]() {
		return p
	}
	if schema.Enum != nil {
		p.enum = map[string]bool{}
		for _, v := range schema.Enum.Values {
			p.enum[fmt.Sprint(v)] = true
		}
	}
	if schema.Minimum != nil {
		least, _ := schema.Minimum.Float64()
		p.least = &least
	}
	switch {
	case t == reflect.TypeFor[time.Duration]() || t == reflect.TypeFor[Size]():
	case reflect.PointerTo(t).Implements(reflect.TypeFor[interface{ UnmarshalYAML(func(any) error) error }]()),
		reflect.PointerTo(t).Implements(reflect.TypeFor[interface{ UnmarshalText([]byte) error }]()):
		return p
	}
	switch t.Kind() {
	case reflect.Struct:
		p.fields = map[string]planField{}
		if !p.addFields(t, schema, nil) {
			return &plan{typ: t}
		}
	case reflect.Slice:
		p.elem = newPlan(t.Elem(), itemSchema(schema))
	case reflect.Pointer:
		p.elem = newPlan(t.Elem(), schema)
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
	default:
		return p
	}
	p.kind = t.Kind()
	return p
}

// addFields adds the fields of a struct, whose index is that of an inlined field. It reports whether there is a bit for each.
func (p *plan) addFields(t reflect.Type, schema *jsonschema.Schema, index []int) bool {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		at := append(append([]int(nil), index...), i)
		switch {
		case !f.IsExported() || name == "-":
		case options == "inline":
			if !p.addFields(f.Type, schema, at) {
				return false
			}
		case name == "" || len(p.fields) == 64:
			return false
		default:
			p.fields[name] = planField{newPlan(f.Type, schema.Properties[name]), at, 1 << len(p.fields)}
		}
	}
	for _, name := range schema.Required {
		p.required |= p.fields[name].bit
	}
	return true
}

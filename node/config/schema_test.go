package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite ferry.schema.json")

// object keeps the keys of a JSON object in the order of the struct.
type object struct {
	keys   []string
	values map[string]any
}

func (o *object) set(key string, value any) {
	if o.values == nil {
		o.values = map[string]any{}
	}
	o.keys = append(o.keys, key)
	o.values[key] = value
}

func (o *object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, k := range o.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		key, _ := json.Marshal(k)
		value, err := json.Marshal(o.values[k])
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// TestSchema holds ferry.schema.json to the structs, of this package and those it names: names, types, the constants of a
// type of text, and the comments as descriptions.
func TestSchema(t *testing.T) {
	root := &object{}
	root.set("$schema", "https://json-schema.org/draft/2020-12/schema")
	root.set("title", "ferry node")
	describe(root, reflect.TypeFor[Config](), reflect.ValueOf(*base()), &sources{t: t})
	want, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile("ferry.schema.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(Schema, want) {
		t.Error("ferry.schema.json is not what Config says: run make gen")
	}
}

// describe says in o what a value of type t is; def is the default.
func describe(o *object, t reflect.Type, def reflect.Value, from *sources) {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		o.set("type", "string")
		o.set("pattern", durationPattern)
	case t == reflect.TypeFor[Size]():
		o.set("type", []string{"string", "integer"})
		o.set("pattern", sizePattern)
		o.set("minimum", 0)
	case t.Kind() == reflect.String:
		o.set("type", "string")
		if values := from.constants(t); len(values) > 0 {
			o.set("enum", values)
		}
	case t.Kind() == reflect.Bool:
		o.set("type", "boolean")
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int64:
		o.set("type", "integer")
	case t.Kind() == reflect.Float64:
		o.set("type", "number")
	case t.Kind() == reflect.Slice:
		o.set("type", "array")
		items := &object{}
		describe(items, t.Elem(), reflect.Zero(t.Elem()), from)
		o.set("items", items)
		return
	case t.Kind() == reflect.Pointer: // what is not there unless it is named, and so has no defaults
		describe(o, t.Elem(), reflect.Zero(t.Elem()), from)
		return
	case t.Kind() == reflect.Struct:
		describeStruct(o, t, def, from)
		return
	default:
		panic("a field of type " + t.String() + " has no schema yet")
	}
	if !def.IsZero() {
		switch v := def.Interface().(type) {
		case time.Duration:
			o.set("default", v.String())
		case Size:
			o.set("default", v.String())
		default:
			o.set("default", v)
		}
	}
}

func describeStruct(o *object, t reflect.Type, def reflect.Value, from *sources) {
	o.set("type", "object")
	o.set("additionalProperties", false)
	properties, required := &object{}, []string{}
	addFields(properties, &required, t, def, from)
	o.set("properties", properties)
	if len(required) > 0 {
		o.set("required", required)
	}
}

// addFields adds the fields of t to properties, those of inlined structs among them.
func addFields(properties *object, required *[]string, t reflect.Type, def reflect.Value, from *sources) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if options == "inline" {
			addFields(properties, required, f.Type, def.Field(i), from)
			continue
		}
		if name == "" {
			from.t.Errorf("%v.%s has no name in YAML", t, f.Name)
		}
		p := &object{}
		p.set("description", from.comment(t, f.Name))
		describe(p, f.Type, def.Field(i), from)
		switch rule := f.Tag.Get("schema"); {
		case rule == "":
		case rule == "required":
			*required = append(*required, name)
		case strings.HasPrefix(rule, "min="):
			n, err := strconv.Atoi(rule[4:])
			if err != nil {
				from.t.Errorf("%v.%s: %v", t, f.Name, err)
			}
			p.set("minimum", n)
		default:
			from.t.Errorf("%v.%s: unknown rule %q", t, f.Name, rule)
		}
		properties.set(name, p)
	}
}

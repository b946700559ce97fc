package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	invopop "github.com/invopop/jsonschema"

	"example.com/ferry/internal/duration"
	"example.com/ferry/stream/pipeline"
)

var update = flag.Bool("update", false, "rewrite ferry.schema.json")

// TestSchema compares ferry.schema.json with the structs of this package and those they use: names, types, defaults, the
// constants of a type of text, and the comments as descriptions.
func TestSchema(t *testing.T) {
	want, err := json.MarshalIndent(generate(t), "", "  ")
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

// TestKeywords: checkSchema knows each keyword and each pattern of the schema, and takes an object for one that has no further fields.
func TestKeywords(t *testing.T) {
	known := []string{"$schema", "title", "description", "default", "type", "enum", "pattern", "minimum", "items", "required", "properties", "additionalProperties"}
	var walk func(at string, of any)
	walk = func(at string, of any) {
		s, ok := of.(map[string]any)
		if !ok {
			t.Fatalf("%s: %v is no schema", at, of)
		}
		for keyword := range s {
			if !slices.Contains(known, keyword) {
				t.Errorf("%s: unknown keyword %s", at, keyword)
			}
		}
		if pattern, has := s["pattern"].(string); has && patterns[pattern].Regexp == nil {
			t.Errorf("%s: unknown pattern %s", at, pattern)
		}
		fields, isObject := s["properties"].(map[string]any)
		if s["type"] == nil || isObject && s["additionalProperties"] != false || s["type"] == "array" && s["items"] == nil {
			t.Errorf("%s: %v lacks a keyword", at, s)
		}
		for name, field := range fields {
			walk(at+"."+name, field)
		}
		for _, below := range []any{s["items"], s["additionalProperties"]} {
			if below != nil && below != false {
				walk(at+"[]", below)
			}
		}
	}
	var all any
	if err := json.Unmarshal(Schema, &all); err != nil {
		t.Fatal(err)
	}
	walk("", all)
}

// generate returns the schema of Config.
func generate(t *testing.T) *invopop.Schema {
	t.Helper()
	from := &sources{t: t}
	reflector := invopop.Reflector{
		Anonymous:                  true,
		DoNotReference:             true,
		ExpandedStruct:             true,
		RequiredFromJSONSchemaTags: true, // there are none: the tag is schema
		FieldNameTag:               "yaml",
		Namer:                      func(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }, // several packages have a Config
		Mapper:                     func(t reflect.Type) *invopop.Schema { return scalarSchema(t, from) },
		LookupComment: func(t reflect.Type, field string) string {
			if field == "" {
				return ""
			}
			return from.comment(t, field)
		},
	}
	root := reflector.ReflectFromType(reflect.TypeFor[Config]())
	root.Title = "ferry node"
	complete(t, root, reflect.TypeFor[Config](), reflect.ValueOf(*defaults()))
	return root
}

// scalarSchema returns the schema of a type that is written as text; nil for all others.
func scalarSchema(t reflect.Type, from *sources) *invopop.Schema {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return &invopop.Schema{Type: "string", Pattern: duration.Pattern}
	case t == reflect.TypeFor[Size](): // text with a unit, or a number of bytes
		return &invopop.Schema{Pattern: sizePattern, Minimum: "0", Extras: map[string]any{"type": []string{"string", "integer"}}}
	case t == reflect.TypeFor[Filters]() || t == reflect.TypeFor[pipeline.Paths]():
		return &invopop.Schema{Items: &invopop.Schema{Type: "string"}, Extras: map[string]any{"type": []string{"string", "array"}}}
	case t.Kind() == reflect.String && len(from.constants(t)) > 0:
		s := &invopop.Schema{Type: "string"}
		for _, value := range from.constants(t) {
			s.Enum = append(s.Enum, value)
		}
		return s
	}
	return nil
}

// complete adds to s, the schema of a struct type, what the library lacks: the rules of schema tags, and the defaults in def.
func complete(t *testing.T, s *invopop.Schema, typ reflect.Type, def reflect.Value) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "-" { // is not in the file
			continue
		}
		if options == "inline" {
			complete(t, s, f.Type, def.Field(i))
			continue
		}
		property, ok := s.Properties.Get(name)
		if !ok {
			t.Errorf("%v.%s, %q in YAML, is not in the schema", typ, f.Name, name)
			continue
		}
		switch rule := f.Tag.Get("schema"); {
		case rule == "":
		case rule == "required":
			s.Required = append(s.Required, name)
		case strings.HasPrefix(rule, "min="):
			property.Minimum = json.Number(rule[4:])
			if _, err := strconv.Atoi(rule[4:]); err != nil {
				t.Errorf("%v.%s: %v", typ, f.Name, err)
			}
		default:
			t.Errorf("%v.%s: unknown rule %q", typ, f.Name, rule)
		}
		completeValue(t, property, f.Type, def.Field(i))
	}
}

func completeValue(t *testing.T, s *invopop.Schema, typ reflect.Type, def reflect.Value) {
	switch typ.Kind() {
	case reflect.Struct:
		complete(t, s, typ, def)
	case reflect.Pointer: // an absent pointer has no defaults
		completeValue(t, s, typ.Elem(), reflect.Zero(typ.Elem()))
	case reflect.Slice:
		completeValue(t, s.Items, typ.Elem(), reflect.Zero(typ.Elem()))
	default:
		if def.IsZero() {
			return
		}
		switch v := def.Interface().(type) {
		case time.Duration:
			s.Default = v.String()
		case Size:
			s.Default = v.String()
		default:
			s.Default = v
		}
	}
}

package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
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

// TestSchema holds ferry.schema.json to the struct: names, types, and the comments as descriptions.
func TestSchema(t *testing.T) {
	comments := fieldComments(t)
	root := &object{}
	root.set("$schema", "https://json-schema.org/draft/2020-12/schema")
	root.set("title", "ferry node")
	describe(root, reflect.TypeFor[Config](), reflect.ValueOf(*base()), comments)
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

func describe(o *object, t reflect.Type, def reflect.Value, comments map[string]string) {
	if e, ok := reflect.Zero(t).Interface().(interface{ enum() []string }); ok {
		o.set("type", "string")
		o.set("enum", e.enum())
	} else {
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
		case t.Kind() == reflect.Bool:
			o.set("type", "boolean")
		case t.Kind() == reflect.Int:
			o.set("type", "integer")
		case t.Kind() == reflect.Slice:
			o.set("type", "array")
			items := &object{}
			describe(items, t.Elem(), reflect.Zero(t.Elem()), comments)
			o.set("items", items)
		case t.Kind() == reflect.Struct:
			describeStruct(o, t, def, comments)
			return
		default:
			panic("a field of type " + t.String() + " has no schema yet")
		}
	}
	if def.IsValid() && !def.IsZero() && t.Kind() != reflect.Slice {
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

func describeStruct(o *object, t reflect.Type, def reflect.Value, comments map[string]string) {
	o.set("type", "object")
	o.set("additionalProperties", false)
	properties, required := &object{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		p := &object{}
		p.set("description", comments[t.Name()+"."+f.Name])
		describe(p, f.Type, def.Field(i), comments)
		switch rule := f.Tag.Get("schema"); {
		case rule == "required":
			required = append(required, name)
		case strings.HasPrefix(rule, "min="):
			n, _ := strconv.Atoi(rule[4:])
			p.set("minimum", n)
		}
		properties.set(name, p)
	}
	o.set("properties", properties)
	if len(required) > 0 {
		o.set("required", required)
	}
}

// fieldComments returns the comment of each struct field in config.go and function.go, as one line.
func fieldComments(t *testing.T) map[string]string {
	t.Helper()
	comments := map[string]string{}
	for _, name := range []string{"config.go", "function.go"} {
		addComments(t, name, comments)
	}
	return comments
}

func addComments(t *testing.T, name string, comments map[string]string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if s, ok := spec.Type.(*ast.StructType); ok {
			for _, f := range s.Fields.List {
				text := strings.Join(strings.Fields(f.Doc.Text()), " ")
				if text == "" {
					t.Errorf("%s.%s has no comment", spec.Name, f.Names[0])
				}
				_, text, _ = strings.Cut(text, " ")
				text = strings.TrimPrefix(strings.TrimPrefix(text, "is "), "are ")
				comments[spec.Name.Name+"."+f.Names[0].Name] = strings.ToUpper(text[:1]) + text[1:]
			}
		}
		return false
	})
}

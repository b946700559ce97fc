package schema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.com/ferry/format/schema"
)

const hints = `{
  "fields": {
    "noise": {"key": "0x10", "fields": {
      "level": {"key": "0x11", "type": "float32"},
      "unit.name": {"key": "0x12", "type": "string"},
      "raw": {"key": "0x13", "type": "bytes", "list": true}
    }},
    "pumps": {"type": "Pump", "list": true, "key": 32},
    "far": {"key": 536870911, "type": "sint64", "list": false}
  },
  "types": {
    "Pump": {"name": {"key": "0x11", "type": "string"}, "spare": {"key": "0x12", "type": "Pump"}}
  }
}`

func pumps(t *testing.T) *schema.Message {
	t.Helper()
	m, err := schema.Parse([]byte(hints))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestParse(t *testing.T) {
	t.Parallel()
	m := pumps(t)
	var got []string
	var list func(m *schema.Message, depth int)
	list = func(m *schema.Message, depth int) {
		for _, f := range m.Fields {
			got = append(got, fmt.Sprintf("%d %s 0x%x %v", depth, f.Name, f.Number, &f))
			if f.Message != nil && depth < 2 {
				list(f.Message, depth+1)
			}
		}
	}
	list(m, 0)
	want := []string{
		"0 noise 0x10 noise", "1 level 0x11 float32", "1 unit.name 0x12 string", "1 raw 0x13 list of bytes",
		"0 pumps 0x20 list of Pump", "1 name 0x11 string", "1 spare 0x12 Pump", "2 name 0x11 string", "2 spare 0x12 Pump",
		"0 far 0x1fffffff sint64",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"key":1,"fields":{"a":`, 40) + `{"key":1,"type":"bool"}` + strings.Repeat(`}}`, 40)
	for _, c := range []struct {
		name, text string
		want       string
	}{
		{"empty", "", "line 1: the file ends where more should come"},
		{"no JSON", "noise: 5", "line 1: invalid character 'o'"},
		{"cut off", "{\"fields\": {\n\"a\": {", "line 2: fields.a: the file ends"},
		{"missing comma", "{\n\"fields\": {\"a\": {\"key\": 1\n\"type\": \"bool\"}}}", "line 3: fields.a: invalid character '\"'"},
		{"a list", "[]", "line 1: [ where an object { should be"},
		{"null", `{"fields": null}`, "fields: null where an object"},
		{"behind the end", `{"fields": {}} {}`, "behind the closing brace"},
		{"no fields", `{"types": {}}`, `there is no "fields"`},
		{"unknown member", `{"field": {}}`, `field: unknown member: want "fields" or "types"`},
		{"unknown member of a field", `{"fields": {"a": {"kee": 1}}}`, `fields.a.kee: unknown member: want "key"`},
		{"name twice", "{\"fields\": {\"a\": {\"key\": 1, \"type\": \"bool\"},\n\"a\": {}}}", "line 2: fields.a: it is there twice"},
		{"member twice", `{"fields": {"a": {"key": 1, "key": 2}}}`, "fields.a.key: it is there twice"},
		{"key twice", "{\"fields\": {\"a\": {\"key\": \"0x10\", \"type\": \"bool\"},\n\"b\": {\n\"key\": 16, \"type\": \"bool\"}}}", "line 2: fields.b: its key is that of a"},
		{"no key", `{"fields": {"a": {"type": "bool"}}}`, `fields.a: it has no "key"`},
		{"no type", `{"fields": {"a": {"key": 1}}}`, `fields.a: it has neither "type" nor "fields"`},
		{"type and fields", `{"fields": {"a": {"key": 1, "type": "bool", "fields": {}}}}`, `fields.a.fields: a field has either`},
		{"key beyond Y3", `{"fields": {"a": {"key": "0x40"}}}`, `fields.a.key: "0x40" is no key: want "0x00" to "0x3f"`},
		{"key without 0x", `{"fields": {"a": {"key": "10"}}}`, `"10" is no key`},
		{"number beyond protobuf", `{"fields": {"a": {"key": 536870912}}}`, `"536870912" is no key`},
		{"negative number", `{"fields": {"a": {"key": -1}}}`, `"-1" is no key`},
		{"fraction", `{"fields": {"a": {"key": 1.5}}}`, `"1.5" is no key`},
		{"null key", `{"fields": {"a": {"key": null}}}`, `"null" is no key`},
		{"type that is a number", `{"fields": {"a": {"type": 5}}}`, "fields.a.type: 5 where the name of a type"},
		{"list that is no bool", `{"fields": {"a": {"list": "yes"}}}`, "fields.a.list: yes where true or false"},
		{"unknown type", "{\"fields\": {\n\"a\": {\"key\": 1, \"type\": \"flaot32\"}}}", `line 2: fields.a.type: unknown type "flaot32": want bytes, string, bool, int32,`},
		{"one unknown type, mentioned twice", `{"fields": {"a": {"key": 1, "type": "A"}, "b": {"key": 2, "type": "A"}}}`, `fields.a.type: unknown type "A"`},
		{"two unknown types", "{\"fields\": {\"a\": {\"key\": 1, \"type\": \"B\"},\n\"b\": {\"key\": 2, \"type\": \"A\"}}}", `line 1: fields.a.type: unknown type "B"`},
		{"type called message", `{"fields": {"a": {"key": 1, "type": "message"}}}`, `unknown type "message"`},
		{"type of a taken name", `{"fields": {}, "types": {"bool": {}}}`, `types.bool: "bool" is no name for a type`},
		{"empty name", `{"fields": {"": {}}}`, "a field needs a name"},
		{"name that is a number", `{"fields": {"5": {}}}`, "fields.5: a path takes 5 for a number"},
		{"name that is a key", `{"fields": {"0x11": {}}}`, "a path takes 0x11 for a number"},
		{"deep", `{"fields": {"a": ` + deep + `}}`, "more than 32 deep"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m, err := schema.Parse([]byte(c.text))
			var syntax *schema.SyntaxError
			if !errors.As(err, &syntax) || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "schema: line ") {
				t.Errorf("got %v, %v, want an error with %q", m, err, c.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(hints))
	f.Add([]byte(`{"types": {"A": {"a": {"key": "0x01", "type": "A", "list": true}}}, "fields": {}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := schema.Parse(data)
		if (m == nil) != (err != nil) {
			t.Fatalf("got %v and %v", m, err)
		}
	})
}

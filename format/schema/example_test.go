package schema_test

import (
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format/schema"
	"example.com/ferry/format/y3"
)

func ExampleParse() {
	m, err := schema.Parse([]byte(`{
	  "fields": {
	    "noise": {"key": "0x10", "fields": {
	      "level": {"key": "0x11", "type": "float32"},
	      "unit":  {"key": "0x12", "type": "string"}
	    }}
	  }
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	path, as, err := m.Path(field.MustParse("noise.level"), schema.Hex)
	fmt.Println(path, as, err)

	message := []byte("\x90\x04\x11\x02\x3f\xc0") // key 0x10 is a node, in which key 0x11 is the float32 1.5
	span, err := y3.Format{}.Lookup(message, path)
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := y3.Format{}.Value(message, span, as)
	fmt.Println(v.Float, err)
	// Output:
	// 0x10.0x11 float32 <nil>
	// 1.5 <nil>
}

func ExampleMessage_Predicate() {
	m := &schema.Message{Fields: []schema.Field{{Name: "level", Number: 0x11, Type: schema.Float32}}}
	p, err := m.Predicate(field.MustParsePredicate("level > 30"), schema.Hex)
	fmt.Println(p, err)
	_, err = m.Predicate(field.MustParsePredicate("lvel > 30"), schema.Hex)
	fmt.Println(err)
	// Output:
	// float32(0x11) > 30 <nil>
	// schema: the message has no field "lvel": is it level?
}

// Walk reports keys. The schema maps them to names.
func ExampleField_Child() {
	m := &schema.Message{Fields: []schema.Field{{Name: "level", Number: 0x11, Type: schema.Float32}}}
	message := []byte("\x11\x02\x3f\xc0")
	root := m.Root()
	err := y3.Format{}.Walk(message, func(step field.Step, depth int, at field.Span) error {
		if f, ok := root.Child(step); ok && depth > 0 {
			v, err := y3.Format{}.Value(message, at, f.Type.Field())
			fmt.Println(f.Name, v.Float, err)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// level 1.5 <nil>
	// <nil>
}

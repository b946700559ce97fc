package json_test

import (
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/json"
)

var event = []byte(`{"deviceName":"pump-1","readings":[{"value":30}]}`)

func ExampleFormat_Lookup() {
	span, err := json.Format{}.Lookup(event, field.MustParse("readings.0.value"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", event[span.Off:span.End])
	// Output: 30
}

func ExampleFormat_Value() {
	doc := []byte(`["caf\u00e9"]`)
	span, err := json.Format{}.Lookup(doc, field.MustParse("0"))
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := json.Format{}.Value(doc, span, field.AnyType)
	fmt.Println(v.Kind, string(v.Bytes), err)
	// Output: text café <nil>
}

func ExampleFormat_Validate() {
	fmt.Println(json.Format{}.Validate(event, format.Options{}))
	fmt.Println(json.Format{}.Validate([]byte(`{"id":1,"\u0069d":2}`), format.Options{}))
	// Output:
	// <nil>
	// json: name "id" stands twice in one object at offset 8
}

func ExampleFormat_Patch() {
	changed, err := json.Format{}.Patch(nil, event, field.MustParse("deviceName"), field.Value{Kind: field.Text, Bytes: []byte(`pump "2"`)})
	fmt.Printf("%s %v\n", changed, err)
	// Output: {"deviceName":"pump \"2\"","readings":[{"value":30}]} <nil>
}

func ExampleFormat_Walk() {
	_ = json.Format{}.Walk(event, func(step field.Step, depth int, s field.Span) error {
		fmt.Println(depth, step, s.Kind)
		return nil
	})
	// Output:
	// 0  map
	// 1 deviceName text
	// 1 readings list
	// 2 0 map
	// 3 value integer
}

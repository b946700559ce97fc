package bson_test

import (
	"bytes"
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/bson"
)

// event is {"deviceName": "pump-1", "readings": [{"value": 30}]}.
var event = []byte("\x3e\x00\x00\x00\x02deviceName\x00\x07\x00\x00\x00pump-1\x00" +
	"\x04readings\x00\x18\x00\x00\x00\x030\x00\x10\x00\x00\x00\x10value\x00\x1e\x00\x00\x00\x00\x00\x00")

func ExampleFormat_Lookup() {
	span, err := bson.Format{}.Lookup(event, field.MustParse("deviceName"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", event[span.Off:span.End])
	// Output: pump-1
}

func ExampleFormat_Value() {
	span, err := bson.Format{}.Lookup(event, field.MustParse("readings.0.value"))
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := bson.Format{}.Value(event, span, field.AnyType)
	fmt.Println(v.Kind, v.Int, err)
	// Output: integer 30 <nil>
}

func ExampleFormat_Find() {
	set, err := field.NewSet(field.MustParse("deviceName"), field.MustParse("readings.0.value"), field.MustParse("origin"))
	if err != nil {
		fmt.Println(err)
		return
	}
	spans := make([]field.Span, set.Len())
	if err := (bson.Format{}).Find(event, set, spans); err != nil {
		fmt.Println(err)
		return
	}
	for i, p := range set.Paths() {
		fmt.Println(p, spans[i].Kind)
	}
	// Output:
	// deviceName text
	// readings.0.value integer
	// origin nothing
}

func ExampleFormat_Validate() {
	fmt.Println(bson.Format{}.Validate(event, format.Options{}))
	fmt.Println(bson.Format{}.Validate([]byte("\x0d\x00\x00\x00\x0aid\x00\x0aid\x00\x00"), format.Options{}))
	// Output:
	// <nil>
	// bson: key "id" stands twice in one document at offset 9
}

func ExampleFormat_Patch() {
	changed, err := bson.Format{}.Patch(nil, event, field.MustParse("deviceName"), field.Value{Kind: field.Text, Bytes: []byte("pump-12")})
	fmt.Printf("%q %v\n", changed[:29], err)
	// Output: "?\x00\x00\x00\x02deviceName\x00\b\x00\x00\x00pump-12\x00\x04" <nil>
}

func ExampleFormat_PatchInPlace() {
	data := bytes.Clone(event)
	done, err := bson.Format{}.PatchInPlace(data, field.MustParse("readings.0.value"), field.Value{Kind: field.Int, Int: 31})
	fmt.Println(done, data[len(data)-7], err)
	// Output: true 31 <nil>
}

func ExampleFormat_Walk() {
	_ = bson.Format{}.Walk(event, func(step field.Step, depth int, s field.Span) error {
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

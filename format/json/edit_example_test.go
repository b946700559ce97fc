package json_test

import (
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/json"
)

func ExampleFormat_Insert() {
	var e format.Edit
	reading := field.Value{Kind: field.Map, Bytes: []byte(`{"value":31}`)}
	if err := (json.Format{}).Insert(&e, event, field.MustParse("readings.1"), reading); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", e.AppendTo(nil))
	// Output: {"deviceName":"pump-1","readings":[{"value":30},{"value":31}]}
}

func ExampleFormat_Delete() {
	var e format.Edit
	if err := (json.Format{}).Delete(&e, event, field.MustParse("deviceName")); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", e.AppendTo(nil))
	// Output: {"readings":[{"value":30}]}
}

func ExampleFormat_Replace() {
	var e format.Edit
	name := field.Value{Kind: field.Text, Bytes: []byte("pump-12")}
	if err := (json.Format{}).Replace(&e, event, field.MustParse("deviceName"), name); err != nil {
		fmt.Println(err)
		return
	}
	for _, part := range e.Buffers(nil) { // the parts that net.Buffers writes
		fmt.Printf("%s\n", part)
	}
	// Output:
	// {"deviceName":
	// "pump-12"
	// ,"readings":[{"value":30}]}
}

package msgpack_test

import (
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/msgpack"
)

var event = []byte("\x82\xaadeviceName\xa6pump-1\xa8readings\x91\x81\xa5value\x1e")

func ExampleFormat_Lookup() {
	span, err := msgpack.Format{}.Lookup(event, field.MustParse("deviceName"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", event[span.Off:span.End])
	// Output: pump-1
}

func ExampleFormat_Value() {
	span, err := msgpack.Format{}.Lookup(event, field.MustParse("readings.0.value"))
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := msgpack.Format{}.Value(event, span, field.AnyType)
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
	if err := (msgpack.Format{}).Find(event, set, spans); err != nil {
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
	fmt.Println(msgpack.Format{}.Validate(event, format.Options{}))
	fmt.Println(msgpack.Format{}.Validate([]byte("\x82\xa2id\x01\xa2id\x02"), format.Options{}))
	// Output:
	// <nil>
	// msgpack: key id stands twice in one map at offset 5
}

func ExampleFormat_Patch() {
	changed, err := msgpack.Format{}.Patch(nil, event, field.MustParse("deviceName"), field.Value{Kind: field.Text, Bytes: []byte("pump-12")})
	fmt.Printf("%q %v\n", changed[12:20], err)
	// Output: "\xa7pump-12" <nil>
}

func ExampleFormat_PatchInPlace() {
	data := append([]byte(nil), event...)
	done, err := msgpack.Format{}.PatchInPlace(data, field.MustParse("readings.0.value"), field.Value{Kind: field.Int, Int: 31})
	fmt.Println(done, data[len(data)-1], err)
	// Output: true 31 <nil>
}

func ExampleFormat_Walk() {
	_ = msgpack.Format{}.Walk(event, func(step field.Step, depth int, s field.Span) error {
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

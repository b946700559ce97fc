package cbor_test

import (
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
)

var event = []byte("\xa2\x6adeviceName\x66pump-1\x68readings\x81\xa1\x65value\x18\x1e")

func ExampleFormat_Lookup() {
	span, err := cbor.Format{}.Lookup(event, field.MustParse("deviceName"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", event[span.Off:span.End])
	// Output: pump-1
}

func ExampleFormat_Value() {
	span, err := cbor.Format{}.Lookup(event, field.MustParse("readings.0.value"))
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := cbor.Format{}.Value(event, span, field.AnyType)
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
	if err := (cbor.Format{}).Find(event, set, spans); err != nil {
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
	fmt.Println(cbor.Format{}.Validate(event, format.Options{}))
	fmt.Println(cbor.Format{}.Validate([]byte("\xa2\x62id\x01\x62id\x02"), format.Options{}))
	// Output:
	// <nil>
	// cbor: key id stands twice in one map at offset 5
}

func ExampleFormat_Patch() {
	changed, err := cbor.Format{}.Patch(nil, event, field.MustParse("deviceName"), field.Value{Kind: field.Text, Bytes: []byte("pump-12")})
	fmt.Printf("%q %v\n", changed[:19], err)
	// Output: "\xa2jdeviceNamegpump-1" <nil>
}

func ExampleFormat_PatchInPlace() {
	data := append([]byte(nil), event...)
	done, err := cbor.Format{}.PatchInPlace(data, field.MustParse("readings.0.value"), field.Value{Kind: field.Int, Int: 31})
	fmt.Println(done, data[len(data)-1], err)
	// Output: true 31 <nil>
}

func ExampleFormat_Walk() {
	_ = cbor.Format{}.Walk(event, func(step field.Step, depth int, s field.Span) error {
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

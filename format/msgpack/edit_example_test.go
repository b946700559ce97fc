package msgpack_test

import (
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/msgpack"
)

func ExampleFormat_Insert() {
	var e format.Edit
	reading := field.Value{Kind: field.Map, Bytes: []byte("\x81\xa5value\x1f")}
	if err := (msgpack.Format{}).Insert(&e, event, field.MustParse("readings.1"), reading); err != nil {
		fmt.Println(err)
		return
	}
	changed := e.AppendTo(nil)
	span, err := msgpack.Format{}.Lookup(changed, field.MustParse("readings.1.value"))
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := msgpack.Format{}.Value(changed, span, field.AnyType)
	fmt.Println(v.Int, err)
	// Output: 31 <nil>
}

func ExampleFormat_Delete() {
	var e format.Edit
	if err := (msgpack.Format{}).Delete(&e, event, field.MustParse("readings.0.value")); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%q\n", e.AppendTo(nil))
	// Output: "\x82\xaadeviceName\xa6pump-1\xa8readings\x91\x80"
}

func ExampleFormat_Replace() {
	var e format.Edit
	name := field.Value{Kind: field.Text, Bytes: []byte("pump-12")}
	if err := (msgpack.Format{}).Replace(&e, event, field.MustParse("deviceName"), name); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%q\n", e.Buffers(nil)) // the parts that net.Buffers would send
	// Output: ["\x82\xaadeviceName" "\xa7" "pump-12" "\xa8readings\x91\x81\xa5value\x1e"]
}

package cbor_test

import (
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
)

func ExampleFormat_Insert() {
	var e format.Edit
	reading := field.Value{Kind: field.Map, Bytes: []byte("\xa1\x65value\x18\x1f")}
	if err := (cbor.Format{}).Insert(&e, event, field.MustParse("readings.1"), reading); err != nil {
		fmt.Println(err)
		return
	}
	changed := e.AppendTo(nil)
	span, err := cbor.Format{}.Lookup(changed, field.MustParse("readings.1.value"))
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := cbor.Format{}.Value(changed, span, field.AnyType)
	fmt.Println(v.Int, err)
	// Output: 31 <nil>
}

func ExampleFormat_Delete() {
	var e format.Edit
	if err := (cbor.Format{}).Delete(&e, event, field.MustParse("readings.0.value")); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%q\n", e.AppendTo(nil))
	// Output: "\xa2jdeviceNamefpump-1hreadings\x81\xa0"
}

func ExampleFormat_Replace() {
	var e format.Edit
	name := field.Value{Kind: field.Text, Bytes: []byte("pump-12")}
	if err := (cbor.Format{}).Replace(&e, event, field.MustParse("deviceName"), name); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%q\n", e.Buffers(nil)) // the parts that net.Buffers writes
	// Output: ["\xa2jdeviceName" "g" "pump-12" "hreadings\x81\xa1evalue\x18\x1e"]
}

package y3_test

import (
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/y3"
)

func ExampleFormat_Insert() {
	var e format.Edit
	number, err := y3.Format{}.Cast(field.Value{Kind: field.Float, Float: 0.5}, field.Float32)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := (y3.Format{}).Insert(&e, reading(), field.MustParse("0x01.0x13"), number); err != nil {
		fmt.Println(err)
		return
	}
	changed := e.AppendTo(nil)
	span, err := y3.Format{}.Lookup(changed, field.MustParse("0x01.0x13"))
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := y3.Format{}.Value(changed, span, field.Float32)
	fmt.Println(v.Float, err)
	// Output: 0.5 <nil>
}

func ExampleFormat_Delete() {
	var e format.Edit
	data := reading()
	if err := (y3.Format{}).Delete(&e, data, field.MustParse("0x01.0x11")); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("% x\n% x\n", data, e.AppendTo(nil))
	// Output:
	// 81 13 10 01 1f 11 06 70 75 6d 70 2d 31 d2 06 00 01 05 00 01 06
	// 81 0b 10 01 1f d2 06 00 01 05 00 01 06
}

func ExampleFormat_Replace() {
	var e format.Edit
	data := reading()
	name := field.Value{Kind: field.Text, Bytes: []byte("pump-12")}
	if err := (y3.Format{}).Replace(&e, data, field.MustParse("0x01.0x11"), name); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%q\n", e.Buffers(nil)) // the parts that net.Buffers would send
	// Output: ["\x81" "\x14" "\x10\x01\x1f\x11" "\a" "pump-12" "\xd2\x06\x00\x01\x05\x00\x01\x06"]
}

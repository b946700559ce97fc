package bson_test

import (
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/bson"
)

func ExampleFormat_Insert() {
	var e format.Edit
	if err := (bson.Format{}).Insert(&e, event, field.MustParse("readings.0.unit"), field.Value{Kind: field.Text, Bytes: []byte("dB")}); err != nil {
		fmt.Println(err)
		return
	}
	changed := e.AppendTo(nil)
	span, err := bson.Format{}.Lookup(changed, field.MustParse("readings.0.unit"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s; %d bytes became %d\n", changed[span.Off:span.End], event[0], changed[0])
	// Output: dB; 62 bytes became 75
}

func ExampleFormat_Delete() {
	var e format.Edit
	if err := (bson.Format{}).Delete(&e, event, field.MustParse("readings")); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%q\n", e.AppendTo(nil))
	// Output: "\x1c\x00\x00\x00\x02deviceName\x00\a\x00\x00\x00pump-1\x00\x00"
}

func ExampleFormat_Replace() {
	var e format.Edit
	name := field.Value{Kind: field.Text, Bytes: []byte("pump-12")}
	if err := (bson.Format{}).Replace(&e, event, field.MustParse("deviceName"), name); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d bytes become %d\n", len(event), e.Len())
	// Output: 62 bytes become 63
}

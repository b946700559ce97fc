package protobuf_test

import (
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/protobuf"
	"example.com/ferry/format/schema"
)

// message has a name in field 1 and a reading in field 2. The reading has a level in field 1.
var message = []byte("\x0a\x06pump-1\x12\x02\x08\x1e")

func Example() {
	span, err := protobuf.Format{}.Lookup(message, field.MustParse("2.1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := protobuf.Format{}.Value(message, span, field.Int32)
	fmt.Println(v.Int, err)
	// Output: 30 <nil>
}

// A schema gives names and types to the fields. ParseDescriptorSet reads a schema from a file that protoc writes.
func ExampleFormat_schema() {
	reading := &schema.Message{Name: "Reading", Fields: []schema.Field{{Name: "level", Number: 1, Type: schema.Sint32}}}
	pump := &schema.Message{Name: "Pump", Fields: []schema.Field{
		{Name: "name", Number: 1, Type: schema.String},
		{Name: "reading", Number: 2, Type: schema.Nested, Message: reading},
	}}
	f := protobuf.Format{Message: pump}
	_ = f.Walk(message, func(step field.Step, depth int, s field.Span) error {
		fmt.Println(depth, step, s.Kind)
		return nil
	})
	changed, err := f.Patch(nil, message, field.MustParse("reading.level"), field.Value{Kind: field.Int, Int: -300})
	fmt.Printf("% x %v\n", changed, err)
	// Output:
	// 0  map
	// 1 name text
	// 1 reading map
	// 2 level integer
	// 0a 06 70 75 6d 70 2d 31 12 03 08 d7 04 <nil>
}

func ExampleFormat_Find() {
	set, err := field.NewSet(field.MustParse("1"), field.MustParse("2.1"), field.MustParse("7"))
	if err != nil {
		fmt.Println(err)
		return
	}
	spans := make([]field.Span, set.Len())
	if err := (protobuf.Format{}).Find(message, set, spans); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %x %v\n", message[spans[0].Off:spans[0].End], message[spans[1].Off:spans[1].End], spans[2].Found())
	// Output: pump-1 1e false
}

func ExampleFormat_Insert() {
	var e format.Edit
	err := protobuf.Format{}.Insert(&e, message, field.MustParse("2.2"), field.Value{Kind: field.Text, Bytes: []byte("bar")})
	fmt.Printf("% x %v\n", e.AppendTo(nil), err)
	// Output: 0a 06 70 75 6d 70 2d 31 12 07 08 1e 12 03 62 61 72 <nil>
}

func ExampleFormat_Validate() {
	fmt.Println(protobuf.Format{}.Validate(message, format.Options{}))
	fmt.Println(protobuf.Format{}.Validate([]byte{0x00, 0x01}, format.Options{}))
	// Output:
	// <nil>
	// protobuf: field number 0 is not 1 to 536870911 at offset 0
}

func ExampleParseDescriptorSet() {
	_, err := protobuf.ParseDescriptorSet([]byte("\x0a\x0e\x12\x05plant\x22\x05\x0a\x03Fan"), "plant.Pump")
	fmt.Println(err)
	// Output: protobuf: the descriptor set has no message "plant.Pump": it has plant.Fan
}

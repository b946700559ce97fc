package y3_test

import (
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/y3"
)

// reading returns a message: a node 0x01 with a number, a name and a slice.
func reading() []byte {
	b := y3.NewBuilder(y3.P)
	b.Node(0x01)
	b.Int32(0x10, 31)
	b.String(0x11, "pump-1")
	b.Slice(0x12)
	b.Int32(y3.Item, 5)
	b.Int32(y3.Item, 6)
	b.End()
	b.End()
	message, err := b.Message()
	if err != nil {
		panic(err)
	}
	return message
}

func Example() {
	message := reading()
	span, err := y3.Format{}.Lookup(message, field.MustParse("0x01.0x12.1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := y3.Format{}.Value(message, span, field.Int32)
	fmt.Println(v.Int, err)
	// Output: 6 <nil>
}

func ExampleFormat_Patch() {
	f := y3.Format{}
	v, err := f.Cast(field.Value{Kind: field.Int, Int: 1000}, field.Int32)
	if err != nil {
		fmt.Println(err)
		return
	}
	message, err := f.Patch(nil, reading(), field.MustParse("0x01.0x10"), v)
	fmt.Printf("% x %v\n", message, err)
	// Output: 81 14 10 02 87 68 11 06 70 75 6d 70 2d 31 d2 06 00 01 05 00 01 06 <nil>
}

func ExampleFormat_Find() {
	set, err := field.NewSet(field.MustParse("0x01.0x11"), field.MustParse("0x01.0x3f"))
	if err != nil {
		fmt.Println(err)
		return
	}
	message := reading()
	spans := make([]field.Span, set.Len())
	if err := (y3.Format{}).Find(message, set, spans); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %v\n", message[spans[0].Off:spans[0].End], spans[1].Found())
	// Output: pump-1 false
}

func ExampleFormat_Validate() {
	fmt.Println(y3.Format{}.Validate([]byte{0x81, 0x7f}, format.Options{}))
	// Output: y3: negative length at offset 1
}

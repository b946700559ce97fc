// Package y3 reads, changes and writes Y3 messages, one key at a time.
//
// Y3 (y3-codec SPEC draft-01) is Tag, Length, Value. A tag is one byte: the low six bits are the key, 0x80 marks a node
// of packets, and 0x40 marks a slice. The bytes carry no types, so the caller must give the type of a value. There are
// two dialects, which differ in integers and slices. y3-codec-golang writes dialect P; YoMo's frames use dialect N. A
// message is one or more packets. The first step of a path is the key of one of them. Replace, Insert and Delete plan a
// change in a format.Edit. They update the lengths of all nodes around the changed packet.
//
//	b := y3.NewBuilder(y3.P)
//	b.Node(0x01)
//	b.Int32(0x10, 31)
//	b.End()
//	message, err := b.Message()
//	span, err := y3.Format{}.Lookup(message, field.MustParse("0x01.0x10"))
//	value, err := y3.Format{}.Value(message, span, field.Int32)
package y3

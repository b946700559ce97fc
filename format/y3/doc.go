// Package y3 reads, changes and writes Y3 messages, one key at a time.
//
// Y3 (y3-codec SPEC draft-01) is Tag, Length, Value: a tag is one byte, of which the low six bits are the key, 0x80 marks
// a node that holds packets, and 0x40 a slice; nothing in the bytes says what type a value has, so the reader must know.
// Two dialects are alive that agree on all but integers and slices: P is what y3-codec-golang writes, N what YoMo's
// frames use. A message is one packet or several in a row; a path's first step is a key among them.
// Replace, Insert and Delete plan a change in a format.Edit, with the lengths of all nodes around it.
//
//	b := y3.NewBuilder(y3.P)
//	b.Node(0x01)
//	b.Int32(0x10, 31)
//	b.End()
//	message, err := b.Message()
//	span, err := y3.Format{}.Lookup(message, field.MustParse("0x01.0x10"))
//	value, err := y3.Format{}.Value(message, span, field.Int32)
package y3

// Package protobuf finds, tests and changes fields of Protocol Buffers messages without decoding them.
//
// The bytes carry field numbers and lengths, but no names and hardly any types. A path therefore has field numbers
// (5.1), and the caller of Value gives the type. With a schema from a descriptor set, a path may have names, repeated
// fields are lists, and each value has its type. Encoding: https://protobuf.dev/programming-guides/encoding. Comments
// in this package cite that page as Encoding.
//
//	message := []byte("\x0a\x06pump-1\x12\x02\x08\x1e")
//	span, err := protobuf.Format{}.Lookup(message, field.MustParse("2.1"))
//	v, err := protobuf.Format{}.Value(message, span, field.Int32)
//	fmt.Println(v.Int) // 30
package protobuf

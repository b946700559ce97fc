// Package protobuf finds, tests and changes fields of Protocol Buffers messages without decoding them.
//
// The bytes carry field numbers and how long a value is, no names and hardly a type: a path is field numbers, 5.1, and
// who reads a value says as what. With a schema, read from a descriptor set, names work as well, repeated fields are
// lists, and each value knows its type. Encoding: https://protobuf.dev/programming-guides/encoding.
//
//	message := []byte("\x0a\x06pump-1\x12\x02\x08\x1e")
//	span, err := protobuf.Format{}.Lookup(message, field.MustParse("2.1"))
//	v, err := protobuf.Format{}.Value(message, span, field.Int32)
//	fmt.Println(v.Int) // 30
package protobuf

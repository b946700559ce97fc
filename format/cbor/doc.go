// Package cbor finds, tests and changes fields of CBOR messages (RFC 8949) without decoding them.
//
// A step of a path is a text key, an integer key or an index. Definite and indefinite lengths are equivalent. Tags are
// ignored. Only these methods allocate: Value for a text in chunks, Walk for names, and Validate for maps of more than
// 64 keys. Replace, Insert and Delete plan a change in a format.Edit. The tags around the changed value stay. A changed
// count gets the shortest head.
//
//	event := []byte("\xa2\x6adeviceName\x66pump-1\x68readings\x81\xa1\x65value\x18\x1e")
//	span, err := cbor.Format{}.Lookup(event, field.MustParse("readings.0.value"))
//	v, err := cbor.Format{}.Value(event, span, field.AnyType)
//	fmt.Println(v.Int) // 30
package cbor

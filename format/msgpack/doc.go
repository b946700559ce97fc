// Package msgpack finds, tests and changes fields of MessagePack messages without decoding them.
//
// The package reads all type families of the specification (https://github.com/msgpack/msgpack/blob/master/spec.md). It
// does not interpret the content of an extension. A timestamp is an extension, too. A step of a path is a text key, an
// integer key or an index. Only two methods allocate: Walk allocates names, and Validate allocates for maps of more
// than 64 keys. Replace, Insert and Delete plan a change in a format.Edit. If a change alters the number of items, the
// new count has its shortest form.
//
//	event := []byte("\x82\xaadeviceName\xa6pump-1\xa8readings\x91\x81\xa5value\x1e")
//	span, err := msgpack.Format{}.Lookup(event, field.MustParse("readings.0.value"))
//	v, err := msgpack.Format{}.Value(event, span, field.AnyType)
//	fmt.Println(v.Int) // 30
package msgpack

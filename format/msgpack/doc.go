// Package msgpack finds, tests and changes fields of MessagePack messages without decoding them.
//
// It reads all families of the specification (https://github.com/msgpack/msgpack/blob/master/spec.md). The content of an
// extension, and so of a timestamp, is not read. A step of a path is a text key, an integer key or an index. Only Walk
// allocates, for names, and Validate, for maps of more than 64 keys. Replace, Insert and Delete plan a change in a
// format.Edit. They give a changed count its shortest form.
//
//	event := []byte("\x82\xaadeviceName\xa6pump-1\xa8readings\x91\x81\xa5value\x1e")
//	span, err := msgpack.Format{}.Lookup(event, field.MustParse("readings.0.value"))
//	v, err := msgpack.Format{}.Value(event, span, field.AnyType)
//	fmt.Println(v.Int) // 30
package msgpack

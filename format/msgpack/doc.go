// Package msgpack finds, tests and changes fields of MessagePack messages without decoding them.
//
// It reads all families of the specification (https://github.com/msgpack/msgpack/blob/master/spec.md); an extension, and
// so a timestamp, is passed on and never looked into. A step of a path is a text key, an integer key or an index.
// Nothing is allocated but by Walk for the names it hands out, and by Validate for maps of more than 64 keys.
// Replace, Insert and Delete plan a change in a format.Edit; a count that changes gets its shortest form.
//
//	event := []byte("\x82\xaadeviceName\xa6pump-1\xa8readings\x91\x81\xa5value\x1e")
//	span, err := msgpack.Format{}.Lookup(event, field.MustParse("readings.0.value"))
//	v, err := msgpack.Format{}.Value(event, span, field.AnyType)
//	fmt.Println(v.Int) // 30
package msgpack

// Package bson finds, tests and changes fields of BSON documents (bsonspec.org, version 1.1) without decoding them.
//
// A step of a path is a key of a document, or an index in an array. Elements of an array are counted; their keys are
// ignored. int32, int64 and the UTC datetime (milliseconds since 1970) are integers. Code and symbols are text,
// undefined is null. ObjectID, decimal128, timestamp, regular expression, DBPointer, code with scope, min key and max
// key are extensions: they can be found and read as bytes. Only these methods allocate: Walk for names, and Validate
// for documents of more than 64 keys. Replace, Insert and Delete plan a change in a format.Edit. The plan includes the
// new lengths of all enclosing documents and the new keys of later array elements.
//
//	event := []byte("\x1c\x00\x00\x00\x02deviceName\x00\x07\x00\x00\x00pump-1\x00\x00")
//	span, err := bson.Format{}.Lookup(event, field.MustParse("deviceName"))
//	v, err := bson.Format{}.Value(event, span, field.AnyType)
//	fmt.Println(string(v.Bytes)) // pump-1
package bson

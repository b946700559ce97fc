// Package bson finds, tests and changes fields of BSON documents (bsonspec.org, version 1.1) without decoding them.
//
// A step of a path is a key of a document, or an index in an array, which counts elements and ignores their keys. int32,
// int64 and the UTC datetime (milliseconds since 1970) are integers, code and symbols are text, undefined is null.
// ObjectID, decimal128, timestamp, regular expression, DBPointer, code with scope, min key and max key are extensions:
// they can be found and read as bytes. Only Walk allocates, for names, and Validate, for documents of more than 64 keys.
// Replace, Insert and Delete plan a change in a format.Edit. They update the lengths of all documents around it and the
// keys of later array elements.
//
//	event := []byte("\x1c\x00\x00\x00\x02deviceName\x00\x07\x00\x00\x00pump-1\x00\x00")
//	span, err := bson.Format{}.Lookup(event, field.MustParse("deviceName"))
//	v, err := bson.Format{}.Value(event, span, field.AnyType)
//	fmt.Println(string(v.Bytes)) // pump-1
package bson

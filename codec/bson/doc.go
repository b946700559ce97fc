// Package bson converts between Go values and BSON, with MongoDB's driver.
//
// The value must be a document: a struct, or a map with text keys. The key of a struct field is its bson tag. Without
// one it is the json tag, and without both it is the field's name in lower case. Decoding ignores the case of keys. A
// time.Time is a datetime, which has milliseconds. Decoding is strict: the whole input must be one valid document,
// without duplicate keys, nested at most 32 levels deep.
//
//	data, err := bson.Codec{}.Marshal(map[string]float64{"noise": 31.5})
package bson

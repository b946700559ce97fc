// Package bson turns Go values into BSON and back, with MongoDB's driver.
//
// The value must be a document: a struct, or a map with text keys. Struct fields are named by their bson tag, else by
// their json tag, else by their name in small letters; a field also takes a key whose small letters are its name. A
// time.Time is a datetime, which holds milliseconds. Decoding is strict: the whole input must be one valid document, with
// no key twice, nested 32 deep at most.
//
//	data, err := bson.Codec{}.Marshal(map[string]float64{"noise": 31.5})
package bson

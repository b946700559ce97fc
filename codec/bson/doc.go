// Package bson turns Go values into BSON and back, with MongoDB's driver.
//
// The value must be a document: a struct, or a map with text keys. The key of a struct field is its bson tag, or else its json
// tag, or else its name in lower case; decoding ignores the case of keys. A time.Time is a datetime, which has milliseconds.
// Decoding is strict: the whole input must be one valid document without duplicate keys, nested 32 deep at most.
//
//	data, err := bson.Codec{}.Marshal(map[string]float64{"noise": 31.5})
package bson

// Package msgpack turns Go values into MessagePack and back. It writes and reads single items with tinylib/msgp.
//
// Structs are written as maps in field order, with msgpack or json struct tags; maps are sorted by key; integers take their
// shortest form; a time.Time is a timestamp. The fields of an embedded struct stand beside those of the struct around it. A
// type with the methods that msgp generates encodes itself without reflection.
//
// Decoding is strict. The whole input must be what format/msgpack's Validate accepts: one item, nested 32 deep at most,
// whose maps have texts or integers as keys and none twice. A length is checked against the input before memory is
// allocated for it. A number out of its type's range is an error. In an any, an integer gets the Go type of its encoding.
//
//	data, err := msgpack.Codec{}.Marshal(map[string]float64{"noise": 31.5})
package msgpack

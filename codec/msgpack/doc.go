// Package msgpack turns Go values into MessagePack and back, with vmihailenco/msgpack.
//
// Structs are written as maps in field order, with msgpack or json struct tags, integers in their shortest form, a
// time.Time as a timestamp. Decoding is strict: the whole input must be what format/msgpack's Validate accepts, one item
// nested 32 deep at most, whose maps have texts or integers as keys and none twice; an integer out of its type's range,
// which the library cuts off, is an error. Into an any an integer comes as the narrowest type that its bytes are of.
//
//	data, err := msgpack.Codec{}.Marshal(map[string]float64{"noise": 31.5})
package msgpack

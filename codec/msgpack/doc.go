// Package msgpack converts between Go values and MessagePack. It writes and reads single items with tinylib/msgp.
//
// A struct is a map, in field order. Its keys come from msgpack or json struct tags. The fields of an embedded struct
// are written like fields of the struct around it. A Go map is written sorted by key. An integer has its
// shortest form. A time.Time is a timestamp. A type with the methods that msgp generates encodes itself, without
// reflection.
//
// Decoding is strict. The whole input must be one item that the Validate method of format/msgpack accepts. It may nest
// at most 32 levels deep. The keys of its maps must be texts or integers, without duplicates. A length is compared with
// the size of the input before memory is allocated for it. A number out of its type's range is an error. In a variable
// of type any, an integer gets the Go type that its encoding names.
//
//	data, err := msgpack.Codec{}.Marshal(map[string]float64{"noise": 31.5})
package msgpack

// Package y3 converts between Go structs and Y3 messages, as the high-level codec of y3-codec-golang does.
//
// A field is written under the key in its tag: `y3:"0x11"`. Fields without a tag are not written. Keys are from 0x01 to
// 0x3f; y3-codec-golang reads only keys from 0x10 on. The message is a root node 0x01 with one packet, which has the
// key Codec.Observe. A field may be a bool, an integer, a float, a string, a []byte, a struct or, in dialect P, a
// slice. It may also be a pointer to any of these; a nil pointer is not written. Package format/y3 reads one field of a
// message without decoding the message.
//
//	type reading struct {
//		Noise float32 `y3:"0x11"`
//		Time  int64   `y3:"0x12"`
//	}
//	data, err := y3.Codec{}.Marshal(reading{Noise: 1.5, Time: 1600000000})
package y3

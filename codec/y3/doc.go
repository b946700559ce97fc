// Package y3 turns Go structs into Y3 messages and back, as y3-codec-golang's high-level codec does.
//
// A field is written under the key in its tag, `y3:"0x11"`. Fields without a tag are not written. Keys are from 0x01 to 0x3f;
// y3-codec-golang reads only those from 0x10 on. The message is a root node 0x01 with one packet, whose key is Codec.Observe.
// Fields are bool, integers, floats, strings, []byte, structs, pointers to any of them (nil is not written), and, in dialect P,
// slices. Package format/y3 reads one field of a message without decoding it.
//
//	type reading struct {
//		Noise float32 `y3:"0x11"`
//		Time  int64   `y3:"0x12"`
//	}
//	data, err := y3.Codec{}.Marshal(reading{Noise: 1.5, Time: 1600000000})
package y3

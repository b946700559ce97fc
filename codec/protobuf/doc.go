// Package protobuf converts between Go messages that protoc-gen-go generated and Protocol Buffers, with
// google.golang.org/protobuf.
//
// A value is a proto.Message. Decoding also accepts a pointer to one. Decoding keeps fields that the type does not have, and
// encoding writes them again. Messages nest at most 100 levels deep. With Codec.Deterministic, equal messages have equal
// encodings.
//
// A message that vtprotobuf has generated methods for is encoded and decoded by them, which takes about half the time. They do not check
// that text is UTF-8. A message that can contain itself is decoded without them, because they do not limit the nesting.
//
//	data, err := protobuf.Codec{}.Marshal(wrapperspb.String("pump-1"))
package protobuf

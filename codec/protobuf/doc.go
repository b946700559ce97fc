// Package protobuf converts between Go messages that protoc-gen-go generated and Protocol Buffers, with
// google.golang.org/protobuf.
//
// A value is a proto.Message. Decoding also accepts a pointer to one. Fields are written in a fixed order, so equal
// messages have equal encodings. Decoding keeps fields that the type does not have, and encoding writes them again.
// Messages nest at most 100 levels deep.
//
//	data, err := protobuf.Codec{}.Marshal(wrapperspb.String("pump-1"))
package protobuf

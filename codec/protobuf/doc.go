// Package protobuf turns the messages that protoc-gen-go generates into Protocol Buffers and back, with
// google.golang.org/protobuf.
//
// A value is a proto.Message, or for decoding a pointer to one. The order of fields is fixed, so equal messages have equal
// encodings. Decoding keeps fields that the type does not have, and encoding writes them again. Messages nest 100 deep at most.
//
//	data, err := protobuf.Codec{}.Marshal(wrapperspb.String("pump-1"))
package protobuf

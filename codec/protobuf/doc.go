// Package protobuf turns the messages that protoc-gen-go generates into Protocol Buffers and back, with
// google.golang.org/protobuf.
//
// A value is a proto.Message, and to decode into, a pointer to one as it is generated. Fields are written in one order,
// so that the same message gives the same bytes. Decoding keeps fields that the type does not know, as the library does,
// and writes them again; messages nest 100 deep at most.
//
//	data, err := protobuf.Codec{}.Marshal(wrapperspb.String("pump-1"))
package protobuf

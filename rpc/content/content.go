package content

import (
	"slices"

	"example.com/ferry/codec/bson"
	"example.com/ferry/codec/cbor"
	"example.com/ferry/codec/json"
	"example.com/ferry/codec/msgpack"
	"example.com/ferry/codec/protobuf"
	"example.com/ferry/codec/raw"
	"example.com/ferry/codec/y3"
	"example.com/ferry/rpc/envelope"
)

// All returns the content types of ferry in a new slice. A server offers each method in those whose codec can carry its types.
func All() []envelope.Content {
	return []envelope.Content{
		{Type: "application/protobuf", Codec: protobuf.Codec{}},
		{Type: "application/json", Codec: json.Codec{}},
		{Type: "application/cbor", Codec: cbor.Codec{}},
		{Type: "application/y3", Codec: y3.Codec{}},
		{Type: "application/octet-stream", Codec: raw.Codec{}},
		{Type: "application/grpc", Envelope: envelope.GRPC{}, Codec: protobuf.Codec{}},
		{Type: "application/grpc+proto", Envelope: envelope.GRPC{}, Codec: protobuf.Codec{}},
		{Type: "application/grpc+json", Envelope: envelope.GRPC{}, Codec: json.Codec{}},
		{Type: "application/json-rpc", Envelope: envelope.JSONRPC{}, Codec: json.Codec{}},
		{Type: "application/jsonrpc2", Envelope: envelope.JSONRPC2{}, Codec: json.Codec{}},
		{Type: "application/proto-rpc", Envelope: envelope.ProtoRPC{}, Codec: protobuf.Codec{}},
		{Type: "application/msgpackrpc", Envelope: envelope.MsgpackRPC{}, Codec: msgpack.Codec{}},
		{Type: "application/bsonrpc", Envelope: envelope.BSONRPC{}, Codec: bson.Codec{}},
	}
}

// ByType returns the content type of All with a name such as application/json. ok is false if there is none.
func ByType(name string) (c envelope.Content, ok bool) {
	all := All()
	i := slices.IndexFunc(all, func(c envelope.Content) bool { return c.Type == name })
	if i < 0 {
		return envelope.Content{}, false
	}
	return all[i], true
}

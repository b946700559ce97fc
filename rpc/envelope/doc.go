// Package envelope writes and reads the bodies of unary calls in which other RPC systems put a method, an id and an error beside
// the encoded value: JSON-RPC 1.0 and 2.0, MessagePack-RPC, go-micro's proto-rpc and bsonrpc, and gRPC's length-prefixed message.
//
// An Envelope has pure functions over one message. It keeps no state between messages, and it does not decode the value: a parsed
// Body is a part of the message, which the codec of the content type decodes. The layouts are those of net/rpc and go-micro v1.
//
//	data, err := envelope.JSONRPC2{}.AppendRequest(nil, envelope.Request{Method: "greeter.Greeter.Hello", ID: 1, Body: []byte(`{"name":"Bo"}`)})
//	req, err := envelope.JSONRPC2{}.ParseRequest(data) // req.Body is {"name":"Bo"}
package envelope

// Files: the bodies of calls that have a method, an id and an error beside the value: envelope.go is the contract, and each
// kind has a file. jsonscan.go reads members and items by the scanner of format/json, without decoding values,
// jsonmembers.go reads a message of JSON-RPC in one scan, jsonstatus.go maps its errors to codes.

// Package grpc is the transport over one bidirectional stream of gRPC, for gateways and meshes that pass gRPC only. Its schemes are grpc,
// in cleartext, and grpcs, over TLS.
//
//	tr := grpc.New(nil)
//	conn, err := tr.Dial(ctx, "edge.example:4190")
//
// A Conn is a stream of bytes in the messages of a call of /ferry.Transport/Connect: each message is bytes without an encoding, behind gRPC's
// prefix of five bytes. How the bytes are cut into messages means nothing. A dialed Conn has an HTTP/2 connection of its own. A listener
// also takes many streams of one connection, as other implementations of gRPC open them. The end of a Conn is the end of its call, so a Conn
// has no CloseWrite.
package grpc

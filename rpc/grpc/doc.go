// Package grpc is gRPC over HTTP/2 on any transport, compatible with other implementations on both sides. It is a call.Protocol.
//
// Unary calls and the three shapes of streams, metadata, deadlines, cancellation, status with details, and the compressions gzip and
// zstd work as doc/PROTOCOL-HTTP2.md of gRPC says. Package reflection tells clients what a server offers. The content type
// application/protobuf is gRPC's own, and application/X is application/grpc+X on the wire. A response is compressed as its request is.
//
// Metadata never has the fields of the protocol and of HTTP: those that begin with grpc-, content-type, te, user-agent and those of a connection.
//
//	l, err := grpc.Protocol{}.Listen(ctx, tcp.New(nil), "127.0.0.1:9102", service)
//	c, err := grpc.Protocol{}.Dial(ctx, tcp.New(nil), "127.0.0.1:9102")
//	var r call.Response
//	err = c.Call(ctx, &call.Head{Method: "greeter.Greeter.Hello", Content: "application/protobuf"}, request, &r)
package grpc

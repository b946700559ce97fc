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

// Files: gRPC on internal/h2conn, both sides. pipe.go has the messages of a call in both directions, on one stream. The
// client: client_conn.go is a connection, client_unary.go a call with one message each way, client_stream.go any other. The
// server: listener.go accepts and drains, server_conn.go begins calls, server_call.go is one of them. metadata.go, status.go, timeout.go, content.go and message.go are what gRPC writes in HTTP/2,
// on internal/grpcwire. reflection/ describes a server's methods. interop/ tests it against grpc-go's own client and server.

// Package rpc calls functions on other machines: a Server has methods, which are plain Go functions, and a Client calls them by name.
//
// Three things are chosen independently, as values: the transport (TCP, TLS, QUIC, ...), the protocol that writes calls as bytes
// (ferry's own, gRPC, JSON-RPC over HTTP), and the content type of messages (protobuf, JSON, CBOR, ...). A call is unary or has a
// stream of messages in either direction. Deadlines, cancellation, metadata and the trace context travel with it. A Client balances
// calls over all endpoints of its target, keeps away from endpoints that fail or are slow, and tries a call again where that is safe.
// A Server bounds what it does at once, and ends without losing a call.
//
//	srv := rpc.NewServer(nil)
//	rpc.Handle(srv, "greeter.Greeter.Hello", func(ctx context.Context, in *HelloRequest) (*HelloReply, error) {
//		return &HelloReply{Message: "Hello, " + in.Name}, nil
//	})
//	l, err := srv.Listen(ctx, native.Protocol{}, tcp.New(nil), "127.0.0.1:9101")
//
//	c, err := rpc.Dial(ctx, "tcp://127.0.0.1:9101", nil)
//	out, err := rpc.Call[HelloReply](ctx, c, "greeter.Greeter.Hello", &HelloRequest{Name: "Bo"})
package rpc

// Files: servers and clients over any protocol, transport and content type. server.go holds methods (method.go, handle.go),
// dispatch.go runs a call, respond.go ends it, serverstream.go has its streams. target.go finds endpoints, client.go picks a
// connection of one (endpoint.go), call.go makes a unary call of attempts (attempt.go, hedge.go), clientstream.go opens
// streams, node.go serves through a node, nodeclient.go calls over a connection to one. interceptor.go is what runs around a
// call at both ends, health.go the health service, metrics.go the counters.

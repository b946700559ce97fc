// Package native carries calls on ferry's own wire, version 2 (docs/native.md), over any transport.
//
// Calls in both directions share a connection. Messages above 64 KiB travel in pieces, so a large one delays no other call. Credit
// bounds the memory that a peer can use. On tcp, tls and unix an event loop drives a server's connections.
//
//	l, err := native.Protocol{}.Listen(ctx, tcp.New(nil), "127.0.0.1:9101", service)
//	conn, err := native.Protocol{}.Dial(ctx, tcp.New(nil), "127.0.0.1:9101")
//	err = conn.Call(ctx, &call.Head{Method: "greeter.Greeter.Hello", Content: "application/json"}, request, &response)
package native

// Files: calls on the native wire: session.go has the calls of a connection in both directions, outgoing.go, unary.go and
// client_stream.go those that this end makes, incoming.go and server_stream.go those that it serves; inbox.go puts messages
// together, credit.go bounds them; methods.go numbers methods, head.go writes and reads metadata and status; server.go has
// the connections of a listener; serving.go serves calls over a connection to a node, calling.go makes them there;
// loop_listener.go drives those of tcp, tls and unix with event loops, listener.go others with goroutines.

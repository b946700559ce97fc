// Package native carries calls on ferry's own wire, version 2 (docs/native.md), over any transport.
//
// Calls in both directions share a connection. Messages above 64 KiB travel in pieces, so a large one delays no other call. Credit
// bounds the memory that a peer can use. On tcp, tls and unix an event loop drives a server's connections.
//
//	l, err := native.Protocol{}.Listen(ctx, tcp.New(nil), "127.0.0.1:9101", service)
//	conn, err := native.Protocol{}.Dial(ctx, tcp.New(nil), "127.0.0.1:9101")
//	err = conn.Call(ctx, &call.Head{Method: "greeter.Greeter.Hello", Content: "application/json"}, request, &response)
package native

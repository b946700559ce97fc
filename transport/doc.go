// Package transport defines how bytes travel between two ends: Transport, Conn and Listener. Each folder below implements one
// transport.
//
// A Conn is an ordered, reliable stream of bytes. Some transports (QUIC) carry several independent streams in one connection.
// Their Conns also implement Multi. A packet lost on one stream does not delay the other streams.
//
//	l, err := tr.Listen(ctx, "127.0.0.1:4190")
//	conn, err := l.Accept(ctx)
package transport

// Files: the contract (transport.go), transporttest, and tcp (with tls), unix, memory, quic, websocket and grpc (both with
// TLS too), utp (with the build tag of this name). A Conn is a stream of bytes; QUIC's are Multi. internal/inbox and
// internal/deadline make a net.Conn of a library that passes on messages.

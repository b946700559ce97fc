// Package transport defines how bytes travel between two ends: Transport, Conn and Listener. Each folder below implements one
// transport.
//
// A Conn is an ordered, reliable stream of bytes. Some transports (QUIC) carry several independent streams in one connection.
// Their Conns also implement Multi. A packet lost on one stream does not delay the other streams.
//
//	l, err := tr.Listen(ctx, "127.0.0.1:4190")
//	conn, err := l.Accept(ctx)
package transport

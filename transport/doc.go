// Package transport is the contract of how bytes travel: Dial, Listen, Conn. Each folder below is one transport.
//
// A Conn is an ordered, reliable stream of bytes. A transport whose connections can carry several independent streams
// (QUIC) returns Conns that are also Multi; a packet lost on one stream does not delay the others.
//
//	l, err := tr.Listen(ctx, "127.0.0.1:4190")
//	conn, err := l.Accept(ctx)
package transport

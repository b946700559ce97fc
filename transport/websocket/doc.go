// Package websocket is the transport over WebSockets (RFC 6455), for networks and gateways that pass HTTP only. Its schemes are ws
// and wss. An address is HOST:PORT or HOST:PORT/PATH.
//
//	tr := websocket.New(nil)
//	conn, err := tr.Dial(ctx, "edge.example:80/ferry")
//
// A Conn is a stream of bytes in binary messages: how it is cut into messages means nothing, so messages have no limit of their own, and a
// Conn holds at most 64 KiB that were not read. WebSocket has no half-close: a Conn has no CloseWrite.
package websocket

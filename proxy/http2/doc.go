// Package http2 proxies HTTP/2: it reads requests from clients, routes and forwards them, and returns the responses; and it
// carries requests of any protocol to servers that speak HTTP/2.
//
// A Service serves one listener, on the loops that accept its connections. A client's connection has one handler, a
// clientConn, which owns the protocol's state. Each stream of the connection is the downstream side of one request, as
// package exchange defines it. A stream waits alone: its flow-control window stays closed while its server does not read,
// and its response is paused while its client does not read. The other streams of both connections go on.
//
//	s := http2.New(&http2.Config{}, len(group.Loops()))
//	s.Use(&http2.Config{}, plan)
//	if _, err := group.Listen(at, s.Accept); err != nil {
//		log.Fatal(err)
//	}
package http2

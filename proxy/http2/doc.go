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

// Files: the driver of HTTP/2. The client's side: client_conn.go is a connection and gets what arrives on its streams (client_conn_close.go
// drains it), downstream.go is one stream (downstream_request.go routes and forwards it, downstream_response.go writes the response,
// downstream_end.go is what comes after it), sniff.go chooses between HTTP/1.1 and HTTP/2. The server's side: connector.go opens a stream for
// a request, also at servers that choose the protocol, pool.go chooses its connection, server_conn.go is one connection and
// server_conn_liveness.go its PINGs; upstream.go and upstream_request.go are one stream.

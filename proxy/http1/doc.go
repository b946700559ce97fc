// Package http1 drives HTTP/1.1 and HTTP/1.0 through a proxy: it takes requests from clients, finds each its route and its
// server, and passes the answers back.
//
// A Service is one listener's; its handlers run on the loops that accept the connections. An idle client connection has a
// handler that it shares with all others of its loop, so that it costs nothing here; a request has a session from its first
// byte to its answer's last one. Bodies pass as they come, in both directions, no faster than the receiver takes them.
// Connections to servers are kept for the next request, by loop and endpoint.
//
//	s := http1.New(&http1.Config{}, len(group.Loops()))
//	s.Use(&http1.Config{}, plan)
//	if _, err := group.Listen(at, s.Accept); err != nil {
//		log.Fatal(err)
//	}
package http1

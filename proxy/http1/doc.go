// Package http1 proxies HTTP/1.1 and HTTP/1.0: it reads requests from clients, routes them, and forwards them and their
// responses.
//
// A Service serves one listener, on the loops that accept its connections. All idle connections of a loop share one handler, so
// an idle connection has no object here. A request has two sides, as package exchange defines them: downstreamSide reads it and
// writes the response, upstreamSide writes it to the server and reads the response. Bodies pass in pieces, no faster than the
// receiver takes them. Connections to servers are kept for the next request, by loop and endpoint.
//
//	s := http1.New(&http1.Config{}, len(group.Loops()))
//	s.Use(&http1.Config{}, plan)
//	if _, err := group.Listen(at, s.Accept); err != nil {
//		log.Fatal(err)
//	}
package http1

// Package http1 proxies HTTP/1.1 and HTTP/1.0: it reads requests from clients, routes the requests and forwards them,
// and returns the responses.
//
// A Service serves one listener, on the loops that accept its connections. All idle connections of a loop share one
// handler, so an idle connection needs no object of its own. A request has two sides, as package exchange defines
// them. The downstreamSide reads the request and writes the response. The upstreamSide writes the request to the
// server and reads the response. Bodies pass in pieces, no faster than the receiver reads them. Each loop has a pool
// of connections for each endpoint, and reuses them for later requests.
//
//	s := http1.New(&http1.Config{}, len(group.Loops()))
//	s.Use(&http1.Config{}, plan)
//	if _, err := group.Listen(at, s.Accept); err != nil {
//		log.Fatal(err)
//	}
package http1

// Files: the driver of HTTP/1.1. The client's side: idle.go handles connections between requests, downstream.go a request
// (downstream_request.go reads and routes it, downstream_response.go writes the response, also the proxy's own). The server's side:
// upstream.go and upstream_request.go, pool.go opens it and keeps connections.
// *_state.go draw the states of each; tunnel.go is what an upgrade makes of both, neutral_tunnel.go an upgrade to another
// protocol, neutral_head.go writes its heads.

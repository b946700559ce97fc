// Package exchange has the parts of a proxied request that do not depend on its protocol.
//
// A Plan is the compiled configuration of one listener. An Exchange is one request: it admits the request to a route,
// picks endpoints, decides about retries, counts and logs. A Relay is an Exchange with two sides. A Downstream speaks
// the client's protocol, an Upstream speaks the server's, and neither knows the other. The Relay passes heads, bodies
// and trailers between the two sides, with backpressure. The Relay also enforces the timeouts of the request.
// Connections and encodings belong to the sides.
//
//	relay.Init(downstream, l)                     // once
//	relay.Begin(plan, timeouts)                   // at the first byte of a request
//	up, outcome := relay.Forward(head, false)     // finds the route and begins an attempt
//	if outcome == exchange.Refused {
//		relay.Respond()                           // Downstream.Respond or Downstream.Reject
//	}
//	up.Request(head, false)                       // unless the request waits for a connection
//	pause := relay.RequestData(piece, false)      // until Downstream.ResumeRequest
//	relay.RequestEnd(nil)                         // Downstream.Response, ResponseData and ResponseEnd follow
//	relay.Finish(200)                             // counts and logs the request
//	relay.Release()
package exchange

// Files: a request whatever its protocol: contract.go is what its two sides owe each other, relay.go stands between them
// (retries, replay.go, timeouts.go), routing.go finds the route and says what became of the request, exchange.go
// admits, chooses, counts and logs, error_page.go has the bodies of error responses, http_config.go is what listeners of
// HTTP/1.1 and HTTP/2 have in common, compressed_response.go changes a response for a client that accepts gzip or zstd,
// plan.go is the configuration of a listener's requests.

// Package bolt forwards SOFABolt: requests of many clients over few connections to each server.
//
// A Service is one listener. Its connections belong to the loops of a loop.Group. Package exchange chooses the route
// and the endpoint of a request. The proxy replaces the frame's request id and sends the frame on a connection that
// many clients share. The id of the response leads back to the request. A frame is copied once, from the read buffer
// to the write queue. A frame above 64 KiB passes in pieces, on a connection of its own. A client's connection with
// nothing in flight has no object in this package.
//
// A request has two sides: session is the client's connection, upstreamConn one to an endpoint. They share the request and call each other. Frames are
// lent: they are valid until a call returns.
//
//	client ──frames──► session ──send, startUpload──► upstreamConn ──frames──► server
//	client ◄──frames── session ◄──respond, startLarge── upstreamConn ◄──frames── server
//
//	s := bolt.New(nil, len(group.Loops()))
//	s.Use(nil, exchange.NewPlan(nil, "rpc", table, clusters, metrics, nil))
//	listener, err := group.Listen(addr, s.Accept)
package bolt

// Files: the driver of Bolt: downstream.go is a client's connection with something in flight, idle.go all others; request.go
// a request and its attempts; upstream.go and pool.go the connections to endpoints, pending.go finds the request of a
// response; upload.go, upstream_response.go and response_queue.go pass
// large frames in pieces; backpressure.go pauses clients of a server that does not read.

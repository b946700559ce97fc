// Package upstream knows the servers behind a proxy: which there are, which of them are well, and which one gets a request.
//
// A Cluster is servers that do the same. Pick chooses one for a request and counts it, Done gives it back with what became of
// it; both may be called by all loops at once and never wait. Connections are not its business: a protocol's driver keeps a
// Pool of them for each loop, which an Endpoint holds for it. Run looks names up and checks health on goroutines of its own.
//
//	c, err := upstream.New(&upstream.Config{Name: "echo", Endpoints: []upstream.Server{{Address: "127.0.0.1:12300"}}}, group, nil)
//	go c.Run(ctx)
//	...
//	e, err := c.Pick(rand.Uint64(), now, nil)
//	// send a request to e.Addr() and wait for its answer
//	e.Done(upstream.Success, took, now)
package upstream

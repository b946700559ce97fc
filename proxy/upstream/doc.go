// Package upstream has the clusters of a proxy: their endpoints, the health of each endpoint, and load balancing.
//
// A Cluster is a set of equivalent endpoints. Pick chooses an endpoint for a request and counts the request as
// active. Done ends the request with its outcome. All loops may call Pick and Done at the same time, and neither
// waits. The package opens no connections for requests: a driver creates a Pool for each loop and stores it in the
// Endpoint. Run resolves names and checks health on goroutines of its own.
//
//	c, err := upstream.New(&upstream.Config{Name: "echo", Endpoints: []upstream.Server{{Address: "127.0.0.1:12300"}}}, group, nil)
//	go c.Run(ctx)
//	...
//	e, err := c.Pick(rand.Uint64(), now, nil)
//	// send a request to e.Addr() and wait for its response
//	e.Done(upstream.Success, took, now)
package upstream

// Files: clusters, endpoints and load balancing: cluster.go and endpoint.go are what routes and drivers use, on a Set of
// internal/balance. update.go makes endpoints of what internal/discovery finds, health.go and a file for each kind check
// health; tls.go is TLS to endpoints (Endpoint.Dial), tls_failure.go tells why it fails; check.go and tls_config.go check a
// configuration.

// Package balance chooses the endpoint of each request and learns from its outcome. It is the arithmetic that the clusters of
// the proxy and the clients of rpc share: load balancing, outlier ejection, circuit breaker and retry budget. The table of outcomes
// (outcome.go) says which of them count against an endpoint.
//
// A Set is a set of equivalent endpoints. Pick chooses an endpoint and counts the request as active. Done ends the request
// with its outcome. Any number of loops and goroutines may call Pick and Done at the same time: neither waits, and neither
// allocates. The package has no clock, socket or goroutine: the times are those of the caller's monotonic clock, and all
// callers of a Set use the same clock.
//
//	s := balance.New(&balance.Config{Policy: balance.EWMA}, nil)
//	var a, b balance.Endpoint
//	a.Init(s, "192.0.2.1:80", 1, 0, nil)
//	b.Init(s, "192.0.2.2:80", 1, 0, nil)
//	s.Replace([]*balance.Endpoint{&a, &b})
//	...
//	e, err := s.Pick(rand.Uint64(), now, nil)
//	// send a request to e.Value and wait for its response
//	e.Done(balance.Success, balance.OwnRequest, took, now)
package balance

// Files: the arithmetic of load balancing, without sockets and clocks: pick.go chooses from the snapshot that members.go
// makes; Done (endpoint.go) updates ewma.go, outlier.go and load.go; limits.go is the circuit breaker, budget.go bounds
// retries.

// Package limit bounds what the clients of one listener may use: connections, in all and for each address, and requests per
// second for each client.
//
//	c := limit.NewConnections(limit.NewTotal(10_000))
//	c.Use(&limit.Config{ConnectionsPerAddress: 100}, counters)
//	listener, err := group.ListenGated(addr, c, accept)
//
// A Rate limits requests. It keeps the clients in a table of fixed size, because clients are many and can invent names.
package limit

// Files: what the clients of a listener may use: connections.go refuses connections when they are accepted, by the counts of
// addresses.go; rate.go limits the requests of each client.

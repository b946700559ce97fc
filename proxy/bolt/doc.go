// Package bolt forwards SOFABolt: requests of many clients over few connections to each server.
//
// A Service is one listener. Its connections live on the loops of a loop.Group; a request gets its route and its server from
// package exchange, another id, and a place in a connection that it shares with others, and its answer finds the way back by
// that id. Frames are copied once, from where they were read to where they are written; those above 64 KiB pass in pieces,
// over a connection of their own. A connection that has nothing in flight has no object here, however many there are.
//
//	s := bolt.New(nil, len(group.Loops()))
//	s.Use(nil, exchange.NewPlan("rpc", table, clusters, metrics, nil))
//	listener, err := group.Listen(addr, s.Accept)
package bolt

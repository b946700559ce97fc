// Package rpctest has a protocol for tests: calls within the process, without bytes, connections or transports.
//
//	p := rpctest.New()
//	_, err := srv.Listen(ctx, p, nil, "a")
//	c, err := rpc.Dial(ctx, "memory://a", &rpc.ClientConfig{Protocol: p, Transports: []transport.Transport{memory.New(nil)}})
package rpctest

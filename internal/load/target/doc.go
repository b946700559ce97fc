// Package target has the targets of load: what its requests are in each protocol.
//
// A target is a struct that says what to send and where. Its clients are lean: a request of HTTP/1.1 is bytes written to a socket and a
// response parsed in place, and a call goes to the protocol of package rpc without balancing, retries and interceptors, which would
// hide failures.
//
//	l, err := load.New(&load.Config{Rate: 1000}, &target.HTTP1{Transport: tcp.New(nil), Addr: "127.0.0.1:8080"})
package target

// Package memory carries bytes within one process, for tests and for embedded nodes.
//
// A Network is a value; there is no global name space. Holders of the same Network reach each other by name. Connections are
// buffered, so Write returns before the peer reads. They implement the contract of every transport: deadlines, half-close, end
// of stream after the last byte. Every wait is on a channel, so the package works in testing/synctest.
//
//	n := memory.New(nil)
//	l, err := n.Listen(ctx, "node")
//	conn, err := n.Dial(ctx, "node")
package memory

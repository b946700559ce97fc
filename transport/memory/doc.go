// Package memory carries bytes within one process, for tests and for embedded nodes.
//
// A Network is a value. Holders of the same Network reach each other by name; there is no global name space. Connections are
// buffered, so Write returns before the peer reads. They keep the contract of every transport: deadlines, half-close, end of
// stream after the last byte. All waiting is on channels, so it works with testing/synctest.
//
//	n := memory.New(nil)
//	l, err := n.Listen(ctx, "node")
//	conn, err := n.Dial(ctx, "node")
package memory

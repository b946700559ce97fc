// Package memory carries bytes within one process, for tests and for what is embedded.
//
// A Network is a value: who holds the same one can reach each other by name, and nobody else can. Connections are
// buffered, so that a Write returns before the peer reads, and keep to the contract of any other transport: deadlines,
// half-close, end of stream after the last byte. It takes part in testing/synctest: all waiting is on channels.
//
//	n := memory.New(nil)
//	l, err := n.Listen(ctx, "node")
//	conn, err := n.Dial(ctx, "node")
package memory

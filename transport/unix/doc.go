// Package unix carries bytes over Unix domain sockets, for peers on one machine.
//
// An address is a path. A socket file that a dead process left behind is replaced, one that somebody still listens on is
// an error. A Conn is a *net.UnixConn, so that net.Buffers becomes one writev.
//
//	l, err := unix.New(nil).Listen(ctx, "ferry.sock")
//	conn, err := l.Accept(ctx)
package unix

// Package unix carries bytes over Unix domain sockets, for peers on one machine.
//
// An address is a path. If the socket file exists but no process listens on it, Listen replaces the file. If a process listens
// on it, Listen fails. A Conn is a *net.UnixConn, so one writev sends a net.Buffers.
//
//	l, err := unix.New(nil).Listen(ctx, "ferry.sock")
//	conn, err := l.Accept(ctx)
package unix

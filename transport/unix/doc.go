// Package unix carries bytes over Unix domain sockets, for peers on one machine.
//
// An address is a path. Listen replaces the socket file of a process that ended without removing it, and fails if a process
// listens on the file. A Conn is a *net.UnixConn, so net.Buffers is written with one writev.
//
//	l, err := unix.New(nil).Listen(ctx, "ferry.sock")
//	conn, err := l.Accept(ctx)
package unix

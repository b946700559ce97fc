package grpc

import "example.com/ferry/rpc/call"

// Waiting returns the number of calls of a client's connection that wait for a stream.
func Waiting(conn call.Conn) int {
	c := conn.(*clientConn)
	c.h2.Lock()
	defer c.h2.Unlock()
	return len(c.waiting)
}

//go:build unix

package h1conn

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// Alive reports whether an idle connection can take a request: nothing has arrived on it, neither its end nor a goodbye. It does not block.
// Of transports without a descriptor it knows nothing, and reports true.
func (c *Client) Alive() bool {
	c.SetDeadline(time.Time{}) // one that has passed ends each use of the descriptor
	nc := c.nc
	if wrapped, ok := nc.(interface{ NetConn() net.Conn }); ok {
		nc = wrapped.NetConn()
	}
	s, ok := nc.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	quiet := false
	err = raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = errors.Is(err, syscall.EAGAIN)
		return true
	})
	return err == nil && quiet
}

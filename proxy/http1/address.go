package http1

import (
	"net"

	"example.com/ferry/proxy/loop"
)

// address is the client's, without a port; empty if it has none. The system is asked once a connection.
func (s *session) address() string {
	v := s.share.visits[s.client]
	if v.addr == "" {
		v.addr = address(s.client)
		s.share.visits[s.client] = v
	}
	return v.addr
}

func address(c *loop.Conn) string {
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort().Addr().Unmap().String()
	}
	return ""
}

// last counts a request of the connection, and reports whether it is the last one it is used for.
func (s *session) last() bool {
	if s.rules.MaxRequests == 0 {
		return false
	}
	v := s.share.visits[s.client]
	v.requests++
	s.share.visits[s.client] = v
	return v.requests >= s.rules.MaxRequests
}

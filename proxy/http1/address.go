package http1

import (
	"net"
	"net/netip"

	"example.com/ferry/loop"
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

// host is a server's own name, for requests of HTTP/1.0 that do not say whom they are for: many servers refuse those of
// HTTP/1.1 in which that is empty.
func host(a loop.Addr) string {
	if a.Unix != "" {
		return "localhost"
	}
	return netip.AddrPortFrom(a.TCP.Addr().WithZone(""), a.TCP.Port()).String()
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

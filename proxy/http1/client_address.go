package http1

import (
	"net"

	"example.com/ferry/loop"
)

// clientAddr is the client's address without a port, empty if it has none. The system is asked once a connection.
func (d *downstreamSide) clientAddr() string {
	v := d.loopState.visits[d.client]
	if v.addr == "" {
		v.addr = remoteIP(d.client)
		d.loopState.visits[d.client] = v
	}
	return v.addr
}

func remoteIP(c *loop.Conn) string {
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort().Addr().Unmap().String()
	}
	return ""
}

// lastRequest counts a request of the connection, and reports whether it is the last one that the connection is used for.
func (d *downstreamSide) lastRequest() bool {
	if d.settings.MaxRequests == 0 {
		return false
	}
	v := d.loopState.visits[d.client]
	v.requests++
	d.loopState.visits[d.client] = v
	return v.requests >= d.settings.MaxRequests
}

package http1

import (
	"net"

	"example.com/ferry/loop"
)

// ClientAddr returns the client's address without a port, or an empty string if there is none. It asks the system
// only once per connection.
func (d *downstreamSide) ClientAddr() string {
	v := d.loopState.connInfos[d.client]
	if v.addr == "" {
		v.addr = remoteIP(d.client)
		d.loopState.connInfos[d.client] = v
	}
	return v.addr
}

func remoteIP(c *loop.Conn) string {
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort().Addr().Unmap().String()
	}
	return ""
}

// lastRequest counts a request of the connection. It reports whether the connection has reached MaxRequests.
func (d *downstreamSide) lastRequest() bool {
	if d.settings.MaxRequests == 0 {
		return false
	}
	v := d.loopState.connInfos[d.client]
	v.requests++
	d.loopState.connInfos[d.client] = v
	return v.requests >= d.settings.MaxRequests
}

package transport

import (
	"crypto/tls"
	"io/fs"
)

// Pollable is a Transport whose connections an event loop can drive: they are sockets of the system, with TLS or without.
type Pollable interface {
	// Socket returns what Listen would bind for addr.
	Socket(addr string) (Socket, error)
}

// Socket is an address of the system, and what is above it.
type Socket struct {
	Network string      // tcp or unix
	Address string      // host:port or a path
	TLS     *tls.Config // nil for cleartext
	Mode    fs.FileMode // permissions of the file of a unix socket
}

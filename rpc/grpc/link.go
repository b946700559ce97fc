package grpc

import (
	"example.com/ferry/internal/h2conn"
)

// link is what all calls of a connection share. Its fields but the first two are guarded by the lock of h2.
type link struct {
	h2      *h2conn.Conn
	cfg     *Config
	content contentCache
	server  bool
	held    int // bytes in all pipes of a server that Recv has not taken
}

// hold counts n bytes. A client bounds what it holds by the calls that it makes.
func (l *link) hold(n int) {
	if l.server {
		l.held += n
	}
}

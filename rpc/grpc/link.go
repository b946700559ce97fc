package grpc

import (
	"example.com/ferry/internal/h2conn"
	"example.com/ferry/rpc/internal/held"
)

// link is what all calls of a connection share. Its fields but the first two are guarded by the lock of h2.
type link struct {
	h2      *h2conn.Conn
	cfg     *Config
	content contentCache
	server  bool
	account held.Account // of a server. A client bounds what it holds by the calls that it makes
}

package call

import (
	"context"
	"net"

	"example.com/ferry/transport"
)

// Protocol carries calls over the connections of any transport.
type Protocol interface {
	// Name is the protocol's name on the command line: rpc, grpc, http.
	Name() string
	// Dial connects to addr, which has no scheme.
	Dial(ctx context.Context, t transport.Transport, addr string) (Conn, error)
	// Listen serves calls on addr until Drain or Close. An error names addr.
	Listen(ctx context.Context, t transport.Transport, addr string, s Service) (Listener, error)
}

// Listener serves the calls of an address.
type Listener interface {
	Addr() net.Addr
	// Drain stops accepting, tells clients to call elsewhere, and waits until all calls have ended and their responses are sent. When ctx
	// ends, it closes what is left and returns ctx's error.
	Drain(ctx context.Context) error
	// Close closes all connections at once.
	Close() error
}

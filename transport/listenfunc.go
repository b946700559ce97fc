package transport

import (
	"context"
	"net"
)

// ListenFunc binds an address as net.ListenConfig.Listen does, or returns a socket that listens there already, because another process
// has opened it.
type ListenFunc func(ctx context.Context, lc *net.ListenConfig, network, address string) (net.Listener, error)

// Bind calls f, or lc.Listen if f is nil.
func (f ListenFunc) Bind(ctx context.Context, lc *net.ListenConfig, network, address string) (net.Listener, error) {
	if f == nil {
		return lc.Listen(ctx, network, address)
	}
	return f(ctx, lc, network, address)
}

package accept

import (
	"context"
	"net"

	"example.com/ferry/transport"
)

// Next waits for a connection from ready. It returns net.ErrClosed once closed is closed, and the error of ctx once that has ended, even
// if there is a connection.
func Next[C transport.Conn](ctx context.Context, ready <-chan C, closed <-chan struct{}) (transport.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-closed:
		return nil, net.ErrClosed
	default:
	}
	select {
	case conn := <-ready:
		return conn, nil
	case <-closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

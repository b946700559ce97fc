package forward

import (
	"context"
	"errors"
	"net"

	"example.com/ferry/internal/peer"
	"example.com/ferry/link"
)

var _ link.Conn = (*conn)(nil)

// dial connects to the other node and does the handshake.
func (l *Link) dial(ctx context.Context) (link.Conn, error) {
	l.Box.Lock()
	to := l.target
	l.Box.Unlock()
	raw, err := to.Dialer.Dial(ctx, to.Addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	c, err := l.handshake(raw, to.Token)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = raw.Close()
		if ctx.Err() != nil {
			err = errors.Join(ctx.Err(), err)
		}
		return nil, err
	}
	return c, nil
}

// Serve runs the connection until it ends, and returns the reason.
func (c *conn) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { c.peer.Close(errClosed) })
	defer stop()
	go c.peer.Beat(c.heartbeat)
	go c.confirmations()
	err := peer.Serve(c.peer, &frameHandlers, func() receiver { return receiver{c} })
	if peer.IsClean(err) {
		err = errors.New("forward: the other node closed the connection")
	}
	return err
}

// Finish waits for the confirmation of what was sent, tells the other node that this is all, and ends the connection.
func (c *conn) Finish(ctx context.Context) error {
	err := c.confirm(ctx)
	if err == nil {
		c.peer.Leave()
		c.peer.Close(nil)
		return nil
	}
	c.peer.Close(errClosed)
	return err
}

// drain is called when the other node announces that it is stopping, which ends the connection.
func (c *conn) drain() {
	c.link.Box.Pause(c)
	if c.confirm(c.peer.Context()) == nil {
		c.peer.Leave()
	}
}

// RemoteAddr returns the address of the other node.
func (c *conn) RemoteAddr() net.Addr { return c.peer.RemoteAddr() }

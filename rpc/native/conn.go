package native

import (
	"context"

	"example.com/ferry/rpc/call"
)

// conn is a client's connection.
type conn struct {
	*session
	served chan struct{} // closed when the connection's goroutines have ended
}

var _ call.Conn = (*conn)(nil)

// Close ends the connection once no call is in progress or ctx has ended.
func (c *conn) Close(ctx context.Context) error {
	c.leave()
	var err error
	select {
	case <-c.served:
	case <-ctx.Done():
		err = ctx.Err()
		if c.idle() { // the server has not closed the connection yet
			err = nil
		}
		c.peer.Close(nil)
		<-c.served
	}
	return err
}

func (c *conn) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.outgoing) == 0
}

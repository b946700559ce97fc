package forward

import (
	"context"
	"time"
)

// confirmEvery is the longest time between two requests to the other node to confirm what was sent.
const confirmEvery = time.Second

// confirmations asks the other node to confirm what was sent, whenever a publisher or the memory needs it, until the connection ends.
func (c *conn) confirmations() {
	l := c.link
	tick := time.NewTicker(confirmEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.confirmSoon:
		case <-tick.C:
		case <-c.peer.Context().Done():
			return
		}
		l.Box.Lock()
		_, unconfirmed := l.Box.Sent(c)
		l.Box.Unlock()
		if unconfirmed > 0 && c.confirm(c.peer.Context()) != nil {
			return
		}
	}
}

// confirm waits until the other node has confirmed all messages that were sent over c.
func (c *conn) confirm(ctx context.Context) error {
	l := c.link
	l.Box.Lock()
	total, _ := l.Box.Sent(c)
	ours := l.Box.Current(c)
	l.Box.Unlock()
	if !ours {
		return errClosed
	}
	if err := c.peer.Barrier(ctx); err != nil {
		return err
	}
	l.Box.Confirmed(c, total)
	return nil
}

package stream

import (
	"context"
	"fmt"
	"sync"
	"time"

	"example.com/ferry/internal/peer"
)

// Flush waits until the node has routed all messages sent earlier, and has stored those on tags that it stores at least once. Its
// error names the messages that the node has dropped since the last Flush, for example because their payload was invalid. If the
// storage of the node waits, the error of ctx says why.
//
// If the connection is lost during the wait, Flush goes on waiting for messages on stored tags, which the Client sends again. If
// there are other tags, the error says that the connection was lost: their messages may or may not have arrived. With Config.Spool,
// Flush goes on waiting in any case.
func (c *Client) Flush(ctx context.Context) error {
	confirmed := c.awaitConfirmed
	if c.spooler != nil {
		confirmed = c.spooler.flush
	}
	if err := confirmed(ctx); err != nil {
		return err
	}
	return c.takeDropped()
}

// awaitConfirmed waits until the messages sent before it are routed and stored.
func (c *Client) awaitConfirmed(ctx context.Context) error {
	positions := map[*Source]uint64{}
	for _, s := range c.allSources() {
		positions[s], _, _, _ = s.unstored.state()
	}
	cn, changed := c.current()
	for cn == nil {
		if err := c.wait(ctx, changed); err != nil {
			return err
		}
		cn, changed = c.current()
	}
	stored := len(positions) > 0 // all tags are
	for s, position := range positions {
		if s.stored.Load() {
			continue
		}
		stored = false
		if err := s.unstored.await(ctx, c, position); err != nil { // until what an earlier connection did not write is written
			return err
		}
	}
	if err := cn.barrier(ctx); err != nil && (!stored || ctx.Err() != nil || c.ctx.Err() != nil) {
		return c.whyNotConfirmed(positions, err)
	}
	for s, position := range positions {
		if err := s.unstored.await(ctx, c, position); err != nil {
			return s.notStoredYet(err)
		}
	}
	return nil
}

// whyNotConfirmed adds to err what is not stored of the first source whose storage waits.
func (c *Client) whyNotConfirmed(positions map[*Source]uint64, err error) error {
	for s := range positions {
		if _, messages, _, reason := s.unstored.state(); messages > 0 && reason != "" {
			return s.notStoredYet(err)
		}
	}
	return err
}

// closeWait bounds how long Close waits for the node.
const closeWait = 2 * time.Second

// Close stops the functions and closes the connection. Before that it waits, for at most two seconds, until handlers of durables
// have returned, and then, for at most two seconds, until the node has confirmed all messages sent. The error says how many messages
// on stored tags were not confirmed; they may be stored. Messages in Config.Spool stay there, which is no error. When Close
// returns, no handler is running. Shutdown waits longer.
func (c *Client) Close() error {
	return c.close(func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(context.Background(), closeWait)
	})
}

// Shutdown is Close for a Client that must leave no message behind: it waits until the handlers of durables have returned, and until
// the node has stored or routed all messages, over further connections if the current one is lost, or until ctx ends. With Config.Spool it waits
// until the spool is empty. It closes the Client in any case. The error is that of Close, or names the messages that the node has
// dropped since the last Flush.
func (c *Client) Shutdown(ctx context.Context) error {
	select {
	case <-stopAll(c.durables()):
	case <-ctx.Done():
	}
	err := c.Flush(ctx)
	if closed := c.close(func() (context.Context, context.CancelFunc) { return context.WithCancel(ctx) }); closed != nil {
		return closed
	}
	if ctx.Err() != nil {
		return nil // all messages are confirmed, or in the spool
	}
	return err
}

// durables returns the running functions that have a durable.
func (c *Client) durables() []*Running {
	c.mu.Lock()
	defer c.mu.Unlock()
	running := make([]*Running, 0, len(c.running))
	for _, s := range c.running {
		if s.frame.Durable != "" {
			running = append(running, s.running)
		}
	}
	return running
}

// close closes the Client. bound bounds each of its waits for others.
func (c *Client) close(bound func() (context.Context, context.CancelFunc)) error {
	running := c.durables()
	c.cancel()
	stopped := stopAll(running) // what they have handled is acknowledged before the connection ends
	ctx, cancel := bound()
	defer cancel()
	select {
	case <-stopped:
	case <-ctx.Done(): // a handler may wait for what only the end of the connection ends
	}
	ctx, cancel = bound()
	defer cancel()
	c.spooler.finish(ctx)
	c.mu.Lock()
	cn := c.serving
	c.mu.Unlock()
	if cn != nil {
		ctx, cancel = bound()
		defer cancel()
		cn.close(ctx)
	}
	<-c.ended
	<-stopped
	c.spooler.finish(context.Background())
	c.mu.Lock()
	left, served, made := c.running, c.served, c.made
	c.running, c.served = map[uint32]*subscription{}, nil
	c.mu.Unlock()
	for _, calls := range []peer.Calls{served, made} {
		if calls != nil {
			calls.Ended(ErrClosed)
		}
	}
	for _, s := range left {
		s.running.stop(ErrClosed)
	}
	if n := c.Stats().Waiting; n > 0 {
		return fmt.Errorf("stream: closed before the node has confirmed %d messages", n)
	}
	return nil
}

// stopAll stops functions at the same time. The channel is closed when all have ended.
func stopAll(running []*Running) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var all sync.WaitGroup
		for _, r := range running {
			all.Go(func() { r.stop(ErrClosed) })
		}
		all.Wait()
	}()
	return ended
}

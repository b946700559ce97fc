package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"example.com/ferry/field"
	"example.com/ferry/internal/topic"
	"example.com/ferry/protocol/native"
)

// Run runs a function until ctx ends, the node refuses the function, or the Client is closed. The error is that of ctx,
// wraps a *native.Error, or is ErrClosed. When Run returns, no handler is running.
func (c *Client) Run(ctx context.Context, f Function) error {
	r, err := c.Start(ctx, f)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		r.Stop()
		return ctx.Err()
	case <-r.Done():
		return r.Err()
	}
}

// Running is a started Function.
type Running struct {
	client *Client
	subs   []*subscription // one subscription for each filter
	pool   *pool
	ended  chan struct{}
	once   sync.Once
	err    error
}

// Start starts a function in the background. It returns once the node has accepted the function. ctx limits only that
// wait.
func (c *Client) Start(ctx context.Context, f Function) (*Running, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	window := f.Window
	if window == 0 {
		window = 1 << 20
	}
	r := &Running{client: c, ended: make(chan struct{}), pool: newPool(c, &f)}
	for _, filter := range f.Observe {
		r.subs = append(r.subs, &subscription{running: r, pool: r.pool, result: make(chan error, 1), frame: native.SubFrame{
			Addressed: f.Addressed, Policy: f.Policy, Window: uint32(window), Queue: uint32(f.Queue), Filter: filter, Group: f.Group, Where: f.Where,
			Start: f.From.start, Value: f.From.value, Durable: f.Durable, Concurrency: r.pool.tried(),
		}})
	}
	c.mu.Lock()
	for _, s := range r.subs {
		c.lastSub++
		s.id, s.frame.ID = c.lastSub, c.lastSub
		c.running[s.id] = s
		if c.conn != nil {
			c.conn.requestSub(s)
		}
	}
	c.mu.Unlock()
	for _, s := range r.subs {
		select {
		case err := <-s.result:
			if err != nil {
				r.Stop()
				return nil, err
			}
		case <-ctx.Done():
			r.Stop()
			return nil, fmt.Errorf("stream: subscribe to %q: %w", s.frame.Filter, ctx.Err())
		case <-c.ctx.Done():
			r.Stop()
			return nil, ErrClosed
		}
	}
	return r, nil
}

func (f *Function) check() error {
	if f.Handler == nil {
		return errors.New("stream: Function.Handler is missing")
	}
	if len(f.Observe) == 0 {
		return errors.New("stream: Function.Observe names no tag filter: # observes all tags")
	}
	for _, filter := range f.Observe {
		if err := topic.CheckFilter(filter); err != nil {
			return fmt.Errorf("stream: Function.Observe: %w", err)
		}
	}
	if f.Where != "" {
		if _, err := field.ParsePredicate(f.Where); err != nil {
			return fmt.Errorf("stream: Function.Where: %w", err)
		}
	}
	if err := f.checkStored(); err != nil {
		return err
	}
	if f.Window < 0 || f.Queue < 0 || f.Concurrency < 0 || f.Window > 1<<30 || f.Queue > 1<<30 {
		return fmt.Errorf("stream: Function has Window %d, Queue %d, Concurrency %d: want 0 to %d", f.Window, f.Queue, f.Concurrency, 1<<30)
	}
	return nil
}

// Done returns a channel that is closed when the function has ended.
func (r *Running) Done() <-chan struct{} { return r.ended }

// Err waits until the function has ended and returns the reason. It returns nil after Stop.
func (r *Running) Err() error {
	<-r.ended
	return r.err
}

// Stop ends the function and waits for running handlers, whose context ends. Received messages that are not yet handled are dropped;
// those of a durable are delivered to its other members, or later. So is the message of a handler that then returns an error.
func (r *Running) Stop() { r.stop(nil) }

func (r *Running) stop(why error) {
	r.once.Do(func() {
		r.err = why
		for _, s := range r.subs {
			if s.frame.Durable != "" {
				r.pool.stop()
				s.awaitOutputs()
			}
			r.client.unsubscribe(s)
		}
		r.pool.stop()
		close(r.ended)
	})
	<-r.ended
}

func (c *Client) unsubscribe(s *subscription) {
	c.mu.Lock()
	delete(c.running, s.id)
	cn := c.serving
	c.mu.Unlock()
	if cn == nil {
		return
	}
	cn.mu.Lock()
	delete(cn.subs, s.id)
	cn.mu.Unlock()
	cn.peer.Tell(func(b []byte) []byte {
		if s.frame.Durable != "" {
			return native.AppendUnsubNotTried(b, s.id)
		}
		return native.AppendUnsub(b, s.id)
	})
}

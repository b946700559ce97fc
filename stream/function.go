package stream

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"example.com/ferry"
	"example.com/ferry/field"
	"example.com/ferry/internal/peer"
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

// Stop ends the function and waits for running handlers. Received messages that are not yet handled are dropped.
func (r *Running) Stop() { r.stop(nil) }

func (r *Running) stop(why error) {
	r.once.Do(func() {
		r.err = why
		for _, s := range r.subs {
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
	cn.peer.Tell(func(b []byte) []byte { return native.AppendUnsub(b, s.id) })
}

// subscription is one filter of a Running function.
type subscription struct {
	running *Running
	pool    *pool
	id      uint32
	frame   native.SubFrame
	first   sync.Once
	result  chan error // of capacity 1: result of the first SUB
}

// handleResult handles the node's result of a SUB. SUB is sent again on each new connection, and the node may end a
// subscription with a second result. A later refusal ends the function.
func (s *subscription) handleResult(refused error) {
	if refused != nil {
		refused = fmt.Errorf("stream: subscribe to %q: %w", s.frame.Filter, refused)
	}
	first := false
	s.first.Do(func() {
		first = true
		s.result <- refused
	})
	if !first && refused != nil {
		go s.running.stop(refused)
	}
}

// pool calls a function's handler. At most concurrency calls run, and each inbox is handled in order.
type pool struct {
	client      *Client
	handler     ferry.Handler
	batch       ferry.BatchHandler // nil if handler handles one message at a time
	concurrency int
	window      int
	ctx         context.Context // ends when the function ends
	cancel      context.CancelFunc

	mu      sync.Mutex
	work    sync.Cond // signalled when ready grows or the pool stops
	idle    sync.Cond // signalled when active becomes 0 or the pool stops
	ready   peer.FIFO[*inbox]
	started int // workers that were started
	waiting int // workers that wait for an inbox
	active  int // inboxes that hold messages or are being handled
	workers sync.WaitGroup
}

func newPool(c *Client, f *Function) *pool {
	p := &pool{client: c, handler: f.Handler, concurrency: f.Concurrency, window: f.Window}
	if p.window == 0 {
		p.window = 1 << 20
	}
	if p.concurrency == 0 {
		p.concurrency = runtime.GOMAXPROCS(0)
	}
	p.batch, _ = f.Handler.(ferry.BatchHandler)
	p.work.L, p.idle.L = &p.mu, &p.mu
	p.ctx, p.cancel = context.WithCancel(c.ctx)
	return p
}

// submit queues an inbox that has become active. It starts a worker if more inboxes are queued than workers wait.
func (p *pool) submit(in *inbox) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active++
	p.ready.Push(in)
	// A worker that was signalled for an earlier inbox still counts as waiting until it has woken up.
	if p.ready.Len() > p.waiting && p.started < p.concurrency && p.ctx.Err() == nil {
		p.started++
		p.workers.Add(1)
		go p.worker()
		return
	}
	p.work.Signal()
}

func (p *pool) worker() {
	defer p.workers.Done()
	var w worker
	for {
		p.mu.Lock()
		for p.ready.Len() == 0 && p.ctx.Err() == nil {
			p.waiting++
			p.work.Wait()
			p.waiting--
		}
		if p.ctx.Err() != nil {
			p.mu.Unlock()
			return
		}
		in := p.ready.Pop()
		p.mu.Unlock()
		more := w.handleFront(p, in)
		p.mu.Lock()
		if more {
			p.ready.Push(in)
		} else if p.active--; p.active == 0 {
			p.idle.Broadcast()
		}
		p.mu.Unlock()
	}
}

// stop ends the workers and waits until they have returned.
func (p *pool) stop() {
	p.mu.Lock()
	p.cancel()
	p.work.Broadcast()
	p.idle.Broadcast()
	p.mu.Unlock()
	p.workers.Wait()
}

// waitIdle waits until all inboxes are empty, the pool stops, or ctx ends.
func (p *pool) waitIdle(ctx context.Context) {
	defer context.AfterFunc(ctx, func() {
		p.mu.Lock()
		p.idle.Broadcast()
		p.mu.Unlock()
	})()
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.active > 0 && p.ctx.Err() == nil && ctx.Err() == nil {
		p.idle.Wait()
	}
}

package stream

import (
	"context"
	"math"
	"runtime"
	"sync"

	"example.com/ferry"
	"example.com/ferry/internal/peer"
)

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

// tried returns how many messages of a durable handlers may have begun when the connection is lost; 0 means any number.
func (p *pool) tried() uint16 {
	if p.batch != nil {
		return 0
	}
	return uint16(min(p.concurrency, math.MaxUint16))
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

package worker

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Pool is a set of processes that handle messages. All methods may overlap.
type Pool struct {
	cfg         Config
	ctx         context.Context // ends when Close is called
	cancel      context.CancelFunc
	startCalls  chan func() // functions to run on the thread that starts processes
	supervisors sync.WaitGroup

	mu       sync.Mutex
	idle     []*process
	waiting  []chan grant // waiting calls in order of arrival
	startErr error        // why the last start failed; nil after a successful start
	stats    Stats
}

// grant ends the wait of a call. It holds a process for that call alone, or an error.
type grant struct {
	process *process
	err     error
}

// Stats are the counters of a Pool.
type Stats struct {
	Workers int    // Config.Workers
	Ready   int    // processes that are running and can handle messages
	Busy    int    // processes that are handling messages
	Waiting int    // calls that wait for a process
	Handled uint64 // messages whose handler ended without error
	Failed  uint64 // messages whose handler returned an error, also after the end of the context or the deadline
	Died    uint64 // messages whose process died or was killed while handling them
	Refused uint64 // calls refused with ErrBusy
	Started uint64 // processes that became ready
	Ended   uint64 // processes that ended after they had become ready
	Unready uint64 // processes that ended without becoming ready
}

// Start starts the processes and returns when all of them are ready. If one does not become ready, Start ends the
// others and returns a *DiedError. If cfg is invalid, the error names the field. Close ends the processes.
func Start(cfg Config) (*Pool, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if cfg.Stderr != nil {
		cfg.Stderr = &lockedWriter{w: cfg.Stderr}
	}
	p := &Pool{cfg: cfg, startCalls: make(chan func())}
	p.stats.Workers = cfg.Workers
	p.ctx, p.cancel = context.WithCancel(context.Background())
	go p.start()
	first := make(chan error, cfg.Workers)
	for range cfg.Workers {
		p.supervisors.Go(func() { p.supervise(first) })
	}
	for range cfg.Workers {
		if err := <-first; err != nil {
			_ = p.Close()
			return nil, err
		}
	}
	return p, nil
}

// start runs the functions of startCalls on one thread that lives as long as the processes. Linux kills the processes
// when the thread that started them ends. So the runtime must not end this thread.
func (p *Pool) start() {
	runtime.LockOSThread()
	for f := range p.startCalls {
		f()
	}
}

// Close ends the processes and waits until they have exited. A process that is handling a message may finish it within
// Config.Grace. Otherwise its call fails with ErrClosed, as all waiting calls do.
func (p *Pool) Close() error {
	p.mu.Lock()
	already := p.ctx.Err() != nil
	p.cancel()
	p.failWaiting(ErrClosed)
	p.mu.Unlock()
	p.supervisors.Wait()
	if !already {
		close(p.startCalls)
	}
	return nil
}

// Stats returns a snapshot.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Waiting = len(p.waiting)
	return s
}

// supervise keeps one process running until the Pool is closed. The channel first receives the result of the first
// start.
func (p *Pool) supervise(first chan<- error) {
	pause := backoff{min: p.cfg.MinBackoff, max: p.cfg.MaxBackoff}
	for {
		var lived time.Duration
		c, err := p.launch()
		if first != nil {
			first <- err
			first = nil
		}
		if err != nil {
			p.startFailed(err)
		} else {
			since := time.Now()
			p.started(c)
			p.awaitEnd(c)
			lived = time.Since(since)
		}
		select {
		case <-time.After(pause.next(lived)):
		case <-p.ctx.Done():
			return
		}
	}
}

// backoff computes the pause before a process is started again.
type backoff struct{ min, max, last time.Duration }

// next returns the pause after a process that has lived for lived.
func (b *backoff) next(lived time.Duration) time.Duration {
	if b.last == 0 || lived > b.max {
		b.last = b.min
	} else {
		b.last = min(2*b.last, b.max)
	}
	return b.last
}

// awaitEnd waits until c has ended. When the Pool is closed, it ends c.
func (p *Pool) awaitEnd(c *process) {
	select {
	case <-c.exited:
	case <-p.ctx.Done():
		c.stop()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Ready--
	p.stats.Ended++
	if i := slices.Index(p.idle, c); i >= 0 {
		p.idle = slices.Delete(p.idle, i, i+1)
		c.close()
	}
}

// started makes a new process available to calls.
func (p *Pool) started(c *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.startErr = nil
	p.stats.Ready++
	p.stats.Started++
	p.stats.Busy++
	p.handOver(c)
}

// startFailed makes the waiting calls fail if no process runs.
func (p *Pool) startFailed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return
	}
	p.stats.Unready++
	p.startErr = err
	if p.stats.Ready == 0 {
		p.failWaiting(err)
	}
}

// failWaiting makes all waiting calls fail. The caller holds mu.
func (p *Pool) failWaiting(err error) {
	for _, w := range p.waiting {
		w <- grant{err: err}
	}
	p.waiting = nil
}

// acquire waits for a process and returns it. No other call uses the process until handOver or discard.
func (p *Pool) acquire(ctx context.Context) (*process, error) {
	p.mu.Lock()
	switch n := len(p.idle); {
	case p.ctx.Err() != nil:
		p.mu.Unlock()
		return nil, ErrClosed
	case ctx.Err() != nil:
		p.mu.Unlock()
		return nil, context.Cause(ctx)
	case n > 0:
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.stats.Busy++
		p.mu.Unlock()
		return c, nil
	case p.stats.Ready == 0 && p.startErr != nil:
		err := p.startErr
		p.mu.Unlock()
		return nil, err
	case len(p.waiting) >= p.cfg.Queue:
		p.stats.Refused++
		n := len(p.waiting)
		p.mu.Unlock()
		return nil, fmt.Errorf("%w: %s: %d calls wait for %d processes", ErrBusy, p.cfg.Name, n, p.cfg.Workers)
	}
	turn := make(chan grant, 1)
	p.waiting = append(p.waiting, turn)
	p.mu.Unlock()
	select {
	case g := <-turn:
		return g.process, g.err
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiting, turn); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	} else if g := <-turn; g.process != nil {
		p.handOver(g.process)
	}
	return nil, context.Cause(ctx)
}

// handOver gives a process to the first waiting call, or makes it idle. The caller holds mu.
func (p *Pool) handOver(c *process) {
	switch {
	case c.ended():
		p.discard(c)
	case len(p.waiting) > 0:
		p.waiting[0] <- grant{process: c}
		p.waiting = slices.Delete(p.waiting, 0, 1)
	default:
		p.stats.Busy--
		p.idle = append(p.idle, c)
	}
}

// discard removes a process that has ended. supervise then starts another one. The caller holds mu.
func (p *Pool) discard(c *process) {
	p.stats.Busy--
	c.close()
}

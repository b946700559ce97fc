package worker

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Pool is a number of processes that handle messages. Its methods may overlap.
type Pool struct {
	cfg     Config
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	starter chan func() // what the thread that starts processes does next
	slots   sync.WaitGroup

	mu       sync.Mutex
	idle     []*process
	waiting  []chan grant // in the order of their calls
	startErr error        // why the last process that was to start did not, if none has since
	stats    Stats
}

// grant is what a waiting call is given: a process to itself, or the reason why there is none.
type grant struct {
	process *process
	err     error
}

// Stats is what a Pool has done and is doing.
type Stats struct {
	Workers int    // processes that are to run
	Ready   int    // of those, that run
	Busy    int    // of those, that handle messages
	Waiting int    // calls that wait for a process
	Handled uint64 // messages whose handler ended without error
	Failed  uint64 // messages whose handler ended with one, or that ended with their context or deadline in time
	Died    uint64 // messages whose process died or was killed while it handled them
	Refused uint64 // calls refused with ErrBusy
	Started uint64 // processes that became ready
	Ended   uint64 // of those, that ended
	Unready uint64 // processes that ended without becoming ready
}

// Start runs the processes and returns when all of them are ready. If one does not become ready, the others are ended and
// the error is a *DiedError, or says what is wrong with cfg. Close ends the processes.
func Start(cfg Config) (*Pool, error) {
	cfg, err := cfg.filled()
	if err != nil {
		return nil, err
	}
	if cfg.Stderr != nil {
		cfg.Stderr = &shared{w: cfg.Stderr}
	}
	p := &Pool{cfg: cfg, starter: make(chan func())}
	p.stats.Workers = cfg.Workers
	p.ctx, p.cancel = context.WithCancel(context.Background())
	go p.start()
	first := make(chan error, cfg.Workers)
	for range cfg.Workers {
		p.slots.Go(func() { p.supervise(first) })
	}
	for range cfg.Workers {
		if err := <-first; err != nil {
			_ = p.Close()
			return nil, err
		}
	}
	return p, nil
}

// start runs what is sent to it on one thread that lives as long as the processes. Linux ends them with the thread that
// started them, whatever becomes of its process, so that it must not be one that the runtime may end.
func (p *Pool) start() {
	runtime.LockOSThread()
	for f := range p.starter {
		f()
	}
}

// Close ends the processes and waits until they are gone. A process that handles a message has Config.Grace to end by
// itself; its call, like all that wait, fails with ErrClosed unless the message was handled in that time.
func (p *Pool) Close() error {
	p.mu.Lock()
	already := p.ctx.Err() != nil
	p.cancel()
	p.refuse(ErrClosed)
	p.mu.Unlock()
	p.slots.Wait()
	if !already {
		close(p.starter)
	}
	return nil
}

// Stats returns the counts of this moment.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Waiting = len(p.waiting)
	return s
}

// supervise keeps one process running until the Pool is closed. It tells once whether the first one became ready.
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
			p.unready(err)
		} else {
			since := time.Now()
			p.ready(c)
			p.attend(c)
			lived = time.Since(since)
		}
		select {
		case <-time.After(pause.next(lived)):
		case <-p.ctx.Done():
			return
		}
	}
}

// backoff is the pause before a process is started again.
type backoff struct{ min, max, last time.Duration }

// next returns the pause after a process has lived for so long.
func (b *backoff) next(lived time.Duration) time.Duration {
	if b.last == 0 || lived > b.max {
		b.last = b.min
	} else {
		b.last = min(2*b.last, b.max)
	}
	return b.last
}

// attend waits until c has ended, or ends it when the Pool is closed.
func (p *Pool) attend(c *process) {
	select {
	case <-c.exited:
	case <-p.ctx.Done():
		c.dismiss()
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

// ready gives a new process to whoever waits.
func (p *Pool) ready(c *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.startErr = nil
	p.stats.Ready++
	p.stats.Started++
	p.stats.Busy++
	p.pass(c)
}

// unready tells those who wait that the last process to hope for did not start either.
func (p *Pool) unready(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return
	}
	p.stats.Unready++
	p.startErr = err
	if p.stats.Ready == 0 {
		p.refuse(err)
	}
}

// refuse fails all calls that wait. The caller holds mu.
func (p *Pool) refuse(err error) {
	for _, w := range p.waiting {
		w <- grant{err: err}
	}
	p.waiting = nil
}

// acquire returns a process for the caller alone, who gives it back with pass or discard. It waits in line for one.
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
		p.pass(g.process)
	}
	return nil, context.Cause(ctx)
}

// pass gives a busy process to the next in line. The caller holds mu.
func (p *Pool) pass(c *process) {
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

// discard counts a busy process as gone. The caller holds mu; supervise starts another.
func (p *Pool) discard(c *process) {
	p.stats.Busy--
	c.close()
}

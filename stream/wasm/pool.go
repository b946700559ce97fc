package wasm

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"example.com/ferry"
	"example.com/ferry/cpu"
	"example.com/ferry/format"
	"example.com/ferry/stream/wasm/internal/meter"
)

// Pool is a guest: its compiled module, and instances of it that handle messages. All methods may overlap.
type Pool struct {
	cfg     Config
	runtime wazero.Runtime
	module  wazero.CompiledModule
	formats [256]format.Format // by payload type

	mu       sync.Mutex
	closed   bool
	all      []*instance      // those that exist, at most Config.Instances with those that are being made
	idle     []*instance      // the one used last is at the end
	making   int              // instances that are being made
	starting []*instance      // those of them that run their initialization
	waiting  []chan *instance // calls that wait, in order of arrival. nil tells one that there is room for another instance
	pause    time.Duration    // before the next instance is made
	resume   time.Time        // when the next instance may be made
	watching bool             // the timer runs
	watched  time.Time        // when it last fired
	timer    *time.Timer
	drained  sync.Cond // signalled when an instance ends, and, once closed is set, when one becomes idle
	stats    Stats
}

// Stats are the counters of a Pool.
type Stats struct {
	Instances int    // that exist
	Busy      int    // that handle a message
	Waiting   int    // calls that wait for an instance
	Memory    int64  // bytes of the instances that are idle
	Handled   uint64 // messages that the guest has handled without an error
	Failed    uint64 // messages that it has failed, crashes included
	Crashed   uint64 // instances that were ended by a trap, a timeout or the end of a context
	Started   uint64 // instances that were made
}

var _ ferry.Handler = (*Pool)(nil)

// compiling has a place for one module: what a compiler needs beside the code that it makes is counted once.
var compiling = make(chan struct{}, 1)

// compilers is how many functions of the module are compiled at a time. With one, wazero would not look at the context before the whole module is compiled; with
// more, it does before each function.
const compilers = 2

// Start compiles a module and makes the first instance, which runs the guest's initialization. Close releases both. One module of the process is compiled at
// a time. When ctx ends, Start returns its error: the compiler ends in the background, with the functions that it is at.
func Start(ctx context.Context, binary []byte, cfg Config) (*Pool, error) {
	type started struct {
		pool *Pool
		err  error
	}
	select {
	case compiling <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	done := make(chan started, 1)
	go func() {
		p, err := start(ctx, binary, cfg)
		done <- started{p, err}
	}()
	select {
	case s := <-done:
		return s.pool, s.err
	case <-ctx.Done():
		go func() {
			if s := <-done; s.pool != nil {
				_ = s.pool.Close()
			}
		}()
		return nil, fmt.Errorf("wasm: %s: it was being compiled or started: %w", cfg.Name, ctx.Err())
	}
}

// start is Start. It gives the place in compiling back.
func start(ctx context.Context, binary []byte, cfg Config) (*Pool, error) {
	compiled := sync.OnceFunc(func() { <-compiling })
	defer compiled()
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if len(binary) > MaxGuest {
		return nil, fmt.Errorf("wasm: %s has %d bytes: at most %d", cfg.Name, len(binary), MaxGuest)
	}
	pages := uint32(cfg.Memory / pageSize)
	metered, err := meter.Rewrite(binary, meter.Limits{MemoryPages: pages, TableEntries: maxTableEntries})
	if err != nil {
		return nil, err
	}
	p := &Pool{cfg: cfg}
	p.drained.L = &p.mu
	for _, f := range cfg.Formats {
		p.formats[f.Descriptor().Type] = f
	}
	p.timer = time.AfterFunc(time.Hour, p.watch)
	p.timer.Stop()
	p.runtime = wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithMemoryLimitPages(pages).WithDebugInfoEnabled(false))
	if err := p.build(ctx, metered, compiled); err != nil {
		_ = p.Close()
		return nil, err
	}
	return p, nil
}

// build compiles the module, calls compiled, and makes the first instance.
func (p *Pool) build(ctx context.Context, metered []byte, compiled func()) (err error) {
	if err := p.exportHost(ctx); err != nil {
		return err
	}
	if err := p.exportWASI(ctx); err != nil {
		return err
	}
	if p.module, err = p.runtime.CompileModule(experimental.WithCompilationWorkers(ctx, compilers), metered); err != nil {
		return fmt.Errorf("wasm: %s: %w", p.cfg.Name, err)
	}
	if err := checkModule(p.module); err != nil {
		return fmt.Errorf("wasm: %s: %w", p.cfg.Name, err)
	}
	compiled()
	p.mu.Lock()
	p.making++
	p.mu.Unlock()
	i, err := p.create(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release(i)
	return nil
}

// Handle handles one message in an instance of its own. It waits while all instances are busy. The error is a *CrashError, a
// *HandlerError, that of the Sender or of the context, or ErrClosed. Inside a job of package cpu it returns the token while it
// waits for the pause after a crash.
func (p *Pool) Handle(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	i, err := p.acquire(ctx, in, out)
	if err != nil {
		return err
	}
	err = i.handle()
	p.end(i, err)
	return err
}

// acquire returns an instance that has the message.
func (p *Pool) acquire(ctx context.Context, in *ferry.Message, out ferry.Sender) (*instance, error) {
	for {
		p.mu.Lock()
		switch last := len(p.idle) - 1; {
		case p.closed:
			p.mu.Unlock()
			return nil, ErrClosed
		case last >= 0:
			i := p.idle[last]
			p.idle = p.idle[:last]
			p.begin(i, ctx, in, out)
			p.mu.Unlock()
			return i, nil
		case len(p.all)+p.making < p.cfg.Instances:
			p.making++
			p.mu.Unlock()
			i, err := p.create(ctx)
			if err != nil {
				return nil, err
			}
			p.mu.Lock()
			p.begin(i, ctx, in, out)
			p.mu.Unlock()
			return i, nil
		}
		turn := make(chan *instance, 1)
		p.waiting = append(p.waiting, turn)
		p.mu.Unlock()
		i, err := p.await(ctx, turn)
		if err != nil {
			return nil, err
		}
		if i != nil {
			p.mu.Lock()
			p.begin(i, ctx, in, out)
			p.mu.Unlock()
			return i, nil
		}
	}
}

// await waits for an instance, or for room to make one: then the instance is nil.
func (p *Pool) await(ctx context.Context, turn chan *instance) (*instance, error) {
	select {
	case i := <-turn:
		return i, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := slices.Index(p.waiting, turn); at >= 0 {
		p.waiting = slices.Delete(p.waiting, at, at+1)
	} else if i := <-turn; i != nil {
		p.release(i)
	} else {
		p.offerRoom()
	}
	return nil, ctx.Err()
}

// begin gives an instance a message. p.mu is held.
func (p *Pool) begin(i *instance, ctx context.Context, in *ferry.Message, out ferry.Sender) {
	i.ctx, i.in, i.out = ctx, in, out
	i.busy = true
	i.calls++
	if !p.watching {
		p.startWatching()
	}
}

// end takes an instance back after a call that returned err. An instance that was ended, or has trapped, is closed.
func (p *Pool) end(i *instance, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i.busy = false
	i.ctx, i.in, i.out = nil, nil, nil
	if err != nil {
		p.stats.Failed++
	} else {
		p.stats.Handled++
	}
	if i.crashed || i.ended != notEnded {
		p.stats.Crashed++
		p.remove(i)
		p.backOff()
		return
	}
	p.pause = 0
	p.release(i)
}

// release passes an idle instance to the first call that waits, or keeps it. p.mu is held.
func (p *Pool) release(i *instance) {
	if p.closed {
		p.drained.Broadcast()
	} else if len(p.waiting) > 0 {
		turn := p.waiting[0]
		p.waiting = slices.Delete(p.waiting, 0, 1)
		turn <- i
		return
	}
	p.idle = append(p.idle, i)
}

// remove closes an instance. p.mu is held.
func (p *Pool) remove(i *instance) {
	p.all = slices.DeleteFunc(p.all, func(other *instance) bool { return other == i })
	i.close()
	p.offerRoom()
	p.drained.Broadcast()
}

// offerRoom tells the first call that waits that it may make an instance. p.mu is held.
func (p *Pool) offerRoom() {
	if len(p.waiting) > 0 {
		turn := p.waiting[0]
		p.waiting = slices.Delete(p.waiting, 0, 1)
		turn <- nil
	}
}

// backOff makes the next instance wait, twice as long as the last time. p.mu is held.
func (p *Pool) backOff() {
	p.pause = min(max(2*p.pause, p.cfg.MinBackoff), p.cfg.MaxBackoff)
	p.resume = time.Now().Add(p.pause)
}

// create makes an instance, in the place that p.making counts.
func (p *Pool) create(ctx context.Context) (*instance, error) {
	p.mu.Lock()
	pause := time.Until(p.resume)
	p.mu.Unlock()
	var i *instance
	err := sleep(ctx, pause)
	if err == nil {
		i, err = p.instantiate(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.making--
	p.drained.Broadcast()
	switch {
	case err == nil && p.closed:
		i.close()
		return nil, ErrClosed
	case err != nil:
		if ctx.Err() == nil {
			p.backOff()
		}
		p.offerRoom()
		return nil, err
	}
	p.all = append(p.all, i)
	p.stats.Started++
	return i, nil
}

// sleep waits for d without a token.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	return cpu.Blocking(ctx, func() error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// Stats returns a snapshot.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Instances, s.Busy, s.Waiting = len(p.all), len(p.all)-len(p.idle), len(p.waiting)
	for _, i := range p.idle {
		s.Memory += int64(i.memory.Size())
	}
	return s
}

// Drain refuses new calls, with ErrClosed itself as their error, waits until those in progress have returned, and closes the Pool.
// When ctx ends it ends them.
func (p *Pool) Drain(ctx context.Context) error {
	p.mu.Lock()
	p.refuse()
	p.mu.Unlock()
	stop := context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.endCalls()
	})
	defer stop()
	return p.free()
}

// Close ends the calls that run, and waits until they have returned. A call that waits in its Sender returns when that does.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.refuse()
	p.endCalls()
	p.mu.Unlock()
	return p.free()
}

// refuse refuses new calls, and those that wait. p.mu is held.
func (p *Pool) refuse() {
	p.closed = true
	for _, turn := range p.waiting {
		turn <- nil
	}
	p.waiting = nil
}

// endCalls ends the calls that run. p.mu is held.
func (p *Pool) endCalls() {
	for _, i := range slices.Concat(p.all, p.starting) {
		if i.busy {
			i.stop(endedByClose)
		}
	}
}

// free waits until nothing runs, and releases the memory.
func (p *Pool) free() error {
	p.mu.Lock()
	for p.making > 0 || len(p.idle) < len(p.all) {
		p.drained.Wait()
	}
	p.all, p.idle = nil, nil
	p.timer.Stop()
	p.mu.Unlock()
	return p.runtime.Close(context.Background())
}

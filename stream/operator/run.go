package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Config configures a run. A nil *Config and zero values mean the defaults.
type Config struct {
	// Name is the name of the run in errors and in Store. Empty means "operators".
	Name string

	// Store keeps the state of the operators, so that a run that is started again goes on where it was. Nil means that the state is
	// lost with the run.
	Store Store

	// Log receives the first late value and the first dropped one. Nil means slog.Default.
	Log *slog.Logger
}

// Stats are the counters of a run.
type Stats struct {
	Late      uint64 // values that came behind their window and its allowed lateness, and were dropped
	Dropped   uint64 // values that were dropped because of a limit: of keys, open windows, or kept values
	Malformed uint64 // messages of FromTag that could not be decoded, and were dropped
	Repeated  uint64 // values that were skipped because the state has them already
	Groups    int    // of all GroupBy
}

// Running is a run: chains of operators between sources and sinks. One goroutine at a time is in it: the values and timers of a run are
// handled one after the other. All methods may overlap. A function that is passed to an operator must not call Stop, Err or
// Stats, nor Push, Batch or Last of an Input: it would wait for its own end.
type Running struct {
	name   string
	log    *slog.Logger
	ctx    context.Context // of the run, for functions that are passed one
	cancel context.CancelFunc
	done   chan struct{}
	state  state

	stop atomic.Pointer[reason]

	mu      sync.Mutex
	detach  func() bool // from the context of Start
	started bool        // all operators are built
	starts  []func()    // called behind begins: sources start
	open    int         // sources that have not ended
	begins  []func()    // called when all operators are built
	behind  []func()    // called behind this turn
	closes  []func()    // called when the run has ended
	wall    *timeline
	given   int64 // time that the source has given to the value that is handled now
	start   time.Time
	alarm   *time.Timer // of the next timer on wall
	armed   int64       // the time of alarm
	buffers indexBuffers
	stats   Stats
	flushes []func(context.Context) error
	ended   bool
	err     error
}

// reason is why Stop, or the context of Start, ends a run.
type reason struct{ err error }

// Run starts the sinks and waits until all sources have ended, an operator fails, or ctx ends, whose error it then returns.
func Run(ctx context.Context, c *Config, sinks ...Sink) error {
	r, err := Start(ctx, c, sinks...)
	if err != nil {
		return err
	}
	return r.Err()
}

// Start starts the sinks, the operators before them and the sources of these. Before that it loads the state of the operators, if there is
// a Config.Store. The run ends when all sources have ended and the windows that are open have emitted, when an operator fails, or with
// ctx. A run that ends with ctx or Stop emits nothing further.
func Start(ctx context.Context, c *Config, sinks ...Sink) (*Running, error) {
	var config Config
	if c != nil {
		config = *c
	}
	now := time.Now()
	r := &Running{
		name: cmp.Or(config.Name, "operators"), log: cmp.Or(config.Log, slog.Default()), done: make(chan struct{}),
		wall: newTimeline(now.UnixNano()), start: now, armed: math.MaxInt64,
	}
	r.ctx, r.cancel = context.WithCancel(ctx)
	if err := r.state.load(r.ctx, config.Store); err != nil {
		r.cancel()
		return nil, r.named(err)
	}
	r.alarm = time.AfterFunc(math.MaxInt64, func() { _ = r.enter(nil, func() {}) }) // the error is the run's
	r.mu.Lock()
	r.detach = context.AfterFunc(ctx, func() { r.finish(context.Cause(ctx)) })
	r.mu.Unlock()
	if err := r.build(sinks); err != nil {
		r.finish(err)
		return nil, r.named(err)
	}
	return r, nil
}

// build connects the sinks to their sources and starts these.
func (r *Running) build(sinks []Sink) error {
	if len(sinks) == 0 {
		return errors.New("no sinks: nothing would run")
	}
	return r.enter(nil, func() {
		s := &scope{run: r}
		for _, sink := range sinks {
			sink.attach(s)
		}
		r.state.claimed()
		r.started = true
		for _, begin := range r.begins {
			begin()
		}
		for _, start := range r.starts {
			start()
		}
	})
}

// behindTurn calls f at the end of this turn.
func (r *Running) behindTurn(f func()) { r.behind = append(r.behind, f) }

// endTurn ends what was stopped in this turn, and the run with its last source. Then it stores what has changed.
func (r *Running) endTurn() {
	for i := 0; i < len(r.behind); i++ { // each may add others
		r.behind[i]()
	}
	clear(r.behind)
	r.behind = r.behind[:0]
	r.commit()
	if r.started && r.open == 0 {
		r.finishLocked(nil)
		return
	}
	r.setAlarm()
}

// guard calls a function outside the lock and returns its panic as an error.
func (r *Running) guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = failed(v)
		}
	}()
	return f()
}

// failed returns the error of a panic.
func failed(v any) error {
	if f, ok := v.(failure); ok {
		return f.err
	}
	return &PanicError{Value: v, Stack: debug.Stack()}
}

// enter calls f when no other goroutine is in the run, unless the source of its values has ended; nil if they have none. A panic of f ends
// the run. The error is why the run or the source has ended.
func (r *Running) enter(src *source, f func()) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || src != nil && src.ended {
		return r.ending()
	}
	defer func() {
		if v := recover(); v != nil {
			err = failed(v)
			if stop := r.stop.Load(); stop != nil && errors.Is(err, context.Canceled) {
				r.finishLocked(stop.err) // f has returned because of it
				return
			}
			r.finishLocked(err)
		}
	}()
	r.wall.advance(r.now())
	r.given = r.wall.now
	f()
	r.endTurn()
	return nil
}

// ending is the error of values that come after the end.
func (r *Running) ending() error {
	if r.err != nil {
		return fmt.Errorf("%w: %w", ErrStopped, r.err)
	}
	return ErrStopped
}

// now returns the time of the wall clock. It never goes back.
func (r *Running) now() int64 { return r.start.UnixNano() + int64(time.Since(r.start)) }

func (r *Running) wallClock() clock { return clock{line: r.wall} }

// setAlarm makes alarm enter the run when the next timer of the wall clock is due.
func (r *Running) setAlarm() {
	if r.armed <= r.wall.now {
		r.armed = math.MaxInt64 // the alarm has fired
	}
	if r.wall.due < r.armed {
		r.armed = r.wall.due
		r.alarm.Reset(time.Duration(max(0, r.armed-r.now())))
	}
}

// Stop ends the run. It emits nothing further. When it returns, no function that was passed to an operator is running.
func (r *Running) Stop() { r.finish(nil) }

func (r *Running) finish(err error) {
	r.stop.CompareAndSwap(nil, &reason{err})
	r.cancel() // a function that holds the lock may wait for the end of ctx
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finishLocked(err)
}

func (r *Running) finishLocked(err error) {
	if r.ended {
		return
	}
	r.ended, r.err = true, err
	if err != nil {
		r.err = r.named(err)
	}
	r.cancel()
	r.detach()
	r.alarm.Stop()
	if r.started {
		for _, f := range r.closes {
			if err := r.guard(func() error { f(); return nil }); err != nil && r.err == nil {
				r.err = r.named(err)
			}
		}
	}
	close(r.done)
}

// named adds the name of the run to an error.
func (r *Running) named(err error) error { return fmt.Errorf("operator: %s: %w", r.name, err) }

// Done returns a channel that is closed when the run has ended.
func (r *Running) Done() <-chan struct{} { return r.done }

// Err waits until the run has ended and returns the reason. It is nil if all sources have ended, and after Stop.
func (r *Running) Err() error {
	<-r.done
	return r.err
}

// Stats returns the counters.
func (r *Running) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// late counts a value that came behind its window.
func (r *Running) late(at int64) {
	if r.stats.Late++; r.stats.Late == 1 {
		r.log.Warn("operator: a late value was dropped; further ones are counted", "run", r.name, "time", time.Unix(0, at).UTC())
	}
}

// malformed counts a message that could not be decoded.
func (r *Running) malformed(tag string, err error) {
	if r.stats.Malformed++; r.stats.Malformed == 1 {
		r.log.Warn("operator: a message was dropped that could not be decoded; further ones are counted", "run", r.name, "tag", tag, "err", err)
	}
}

// drop counts a value that a limit excludes.
func (r *Running) drop(limit string, n int) {
	if r.stats.Dropped++; r.stats.Dropped == 1 {
		r.log.Warn("operator: a value was dropped because of a limit; further ones are counted", "run", r.name, "limit", limit, "max", n)
	}
}

package cpu

import (
	"context"
	"sync/atomic"
	"time"
)

// Job is a running function: the context it was given, and the handle by which a hot loop checkpoints without looking its
// context up. From returns it. It is valid as long as its context is, and does nothing once the function has returned.
type Job struct {
	context.Context // what Do was given

	pool *Pool
	pc   uintptr       // the function's entry: its name, once somebody asks
	ask  atomic.Uint32 // not 0: the next checkpoint has something to do
	turn chan error    // nil: go on; ErrClosed: never started

	// Owned by pool.mu.
	state      state
	proven     bool          // lent its token once: it does not checkpoint when asked
	place      int           // in holders or lenders
	level      int           // in the queue
	prev, next *Job          // in the queue
	queued     time.Duration // when it joined the queue
	began      time.Duration // when its turn began
	asked      time.Duration // when it was asked to yield; 0: it was not
	attained   time.Duration // how long it ran before this turn

	// Owned by the goroutine that runs the function.
	forget func() bool // ends the watch over the context's end; nil before the first checkpoint
}

// state says where a job is.
type state uint8

const (
	away    state = iota // neither runs nor waits: in Blocking, or between two steps
	fresh                // waits, and has not started
	holding              // runs on a token
	lent                 // runs without one
	waiting              // waits to go on
	over
)

type jobKey struct{}

// Value makes the job known to contexts made from its own.
func (j *Job) Value(k any) any {
	if k == (jobKey{}) {
		return j
	}
	return j.Context.Value(k)
}

// jobOf returns the innermost job ctx belongs to, or nil.
func jobOf(ctx context.Context) *Job {
	if j, ok := ctx.(*Job); ok {
		return j
	}
	j, _ := ctx.Value(jobKey{}).(*Job)
	return j
}

// inside reports whether ctx belongs to a job of p whose function has not returned.
func (p *Pool) inside(ctx context.Context) bool {
	j := jobOf(ctx)
	for j != nil && j.pool != p {
		j = jobOf(j.Context)
	}
	if j == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return j.state != over
}

// From returns the handle of the job that ctx belongs to, for a loop in which each nanosecond counts. It watches the context
// the job was given, not one made from it. Outside a pool its Checkpoint returns the error of ctx, and nothing else happens.
func From(ctx context.Context) *Job {
	if j := jobOf(ctx); j != nil {
		return j
	}
	j := &Job{Context: ctx}
	j.ask.Store(1)
	return j
}

// Checkpoint is the function Checkpoint on the context the job was given.
func (j *Job) Checkpoint() error {
	if j.ask.Load() == 0 {
		return nil
	}
	return j.pause()
}

// Checkpoint lets others run if it is time, and returns the error of ctx once that has ended, after which the function should
// return. It costs one atomic load until there is something to do. The goroutine the function runs on calls it, as
// often as it likes: each 100 us is enough. Outside a pool it only returns the error of ctx.
func Checkpoint(ctx context.Context) error {
	switch j := ctx.(type) { //nolint:gocritic // the compiler inlines a switch here, and not an if
	case *Job:
		if j.ask.Load() == 0 {
			return nil
		}
	}
	return checkpoint(ctx)
}

// checkpoint is Checkpoint where there may be something to do.
func checkpoint(ctx context.Context) error {
	j := jobOf(ctx)
	if j == nil {
		return ctx.Err()
	}
	if err := j.Checkpoint(); err != nil || j == ctx {
		return err
	}
	return ctx.Err()
}

// pause is what a job does that was asked to yield, whose context ended, or that comes to its first checkpoint.
func (j *Job) pause() error {
	if j.pool == nil {
		return j.Err()
	}
	if err := j.Err(); err != nil {
		return err // and ask stays set
	}
	j.ask.Store(0)
	if j.forget == nil && j.Done() != nil {
		j.forget = context.AfterFunc(j.Context, func() { j.ask.Store(1) })
	}
	return j.pool.yield(j)
}

// yield takes j's token if somebody should run first, and returns when it has one again.
func (p *Pool) yield(j *Job) error {
	p.mu.Lock()
	if j.state != holding && j.state != lent { // over, or another goroutine of the job waits for its token already
		p.mu.Unlock()
		return nil
	}
	now := p.now()
	level := p.level(p.age(j, now))
	full := now-j.began >= p.slice(j.attained)
	late := j.state == lent
	if j.asked > 0 && now-j.asked < p.cfg.Lend {
		p.clear(j)
	}
	if best := p.best(); !late && (best == nil || best.level > level || best.level == level && !full) {
		if full || j.asked > 0 {
			j.attained += now - j.began
			j.began, j.asked = now, 0
			p.arm(now)
		}
		p.mu.Unlock()
		return nil
	}
	p.letGo(j, now)
	j.state = waiting
	p.line(j, now)
	p.mu.Unlock()
	return p.back(j)
}

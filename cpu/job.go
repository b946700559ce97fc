package cpu

import (
	"context"
	"sync/atomic"
	"time"
)

// Job is a running function. It is the function's context, and the handle by which a hot loop checkpoints without a look-up in
// a context. From returns it. It is valid as long as its context, and does nothing once the function has returned.
type Job struct {
	context.Context // Do's argument

	pool          *Pool
	pc            uintptr       // the address of the function's code, for its name in Stats
	checkpointDue atomic.Uint32 // not 0: the next checkpoint has something to do
	granted       chan error    // receives nil for a token, and ErrClosed if the job never starts

	// Guarded by pool.mu.
	state      state
	overran    bool          // it did not yield in time when it was last asked
	index      int           // in Pool.running or Pool.runningLent
	level      int           // in the queue
	prev, next *Job          // in the queue
	queued     time.Duration // when it joined the queue
	turnStart  time.Duration // when its turn began
	yieldAsked time.Duration // when it was asked to yield in this turn; 0 if it was not
	attained   time.Duration // how long it ran before this turn

	// Owned by the goroutine that runs the function.
	stopContextWatch func() bool // of context.AfterFunc; nil before the first checkpoint
}

// state is the phase of a job. Only a running job counts against the pool's tokens.
//
//	queuedNew ──► running ◄──► runningLent     its token was lent, or came back
//	                │ ▲            │
//	       Blocking,│ │granted     │Checkpoint, Blocking
//	      Checkpoint▼ │            ▼
//	            detached, requeued
//
// finished follows every other state.
type state uint8

const (
	detached    state = iota // in Blocking: it neither runs nor waits
	queuedNew                // waits for its first token
	running                  // holds a token
	runningLent              // runs without a token
	requeued                 // waits for a token to continue
	finished
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

// hasJob reports whether ctx belongs to a job of p whose function has not returned.
func (p *Pool) hasJob(ctx context.Context) bool {
	j := jobOf(ctx)
	for j != nil && j.pool != p {
		j = jobOf(j.Context)
	}
	if j == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return j.state != finished
}

// From returns the handle of the job that ctx belongs to, for a loop in which each nanosecond counts. It watches the context
// that Do was given, not one made from it. Outside a pool its Checkpoint only returns the error of ctx.
func From(ctx context.Context) *Job {
	if j := jobOf(ctx); j != nil {
		return j
	}
	j := &Job{Context: ctx}
	j.checkpointDue.Store(1)
	return j
}

// Checkpoint is the function Checkpoint for the context that Do was given.
func (j *Job) Checkpoint() error {
	if j.checkpointDue.Load() == 0 {
		return nil
	}
	return j.pause()
}

// Checkpoint yields to other jobs if that is due. Once ctx has ended it returns the error of ctx, and the function should
// return. It costs one atomic load until there is something to do. The goroutine that runs the function calls it, about every
// 100 us; more often does no harm. Outside a pool it only returns the error of ctx.
func Checkpoint(ctx context.Context) error {
	switch j := ctx.(type) { //nolint:gocritic // the compiler inlines a switch here, and not an if
	case *Job:
		if j.checkpointDue.Load() == 0 {
			return nil
		}
	}
	return checkpoint(ctx)
}

// checkpoint is the slow path of Checkpoint.
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

// pause is called when checkpointDue is set: the job was asked to yield, its context ended, or this is its first checkpoint.
func (j *Job) pause() error {
	if j.pool == nil {
		return j.Err()
	}
	if err := j.Err(); err != nil {
		return err // checkpointDue stays set
	}
	j.checkpointDue.Store(0)
	if j.stopContextWatch == nil && j.Done() != nil {
		j.stopContextWatch = context.AfterFunc(j.Context, func() { j.checkpointDue.Store(1) })
	}
	return j.pool.yield(j)
}

// yield passes j's token on if another job is to run first, and waits until j has a token again.
func (p *Pool) yield(j *Job) error {
	p.mu.Lock()
	if j.state != running && j.state != runningLent { // finished, or another goroutine of the job waits for the token already
		p.mu.Unlock()
		return nil
	}
	now := p.now()
	level := p.level(p.age(j, now))
	full := now-j.turnStart >= p.slice(j.attained)
	late := j.state == runningLent
	if j.yieldAsked > 0 && now-j.yieldAsked < p.cfg.Lend {
		p.recordYield(j)
	}
	if best := p.firstInLine(); !late && (best == nil || best.level > level || best.level == level && !full) {
		if full || j.yieldAsked > 0 {
			j.attained += now - j.turnStart
			j.turnStart, j.yieldAsked = now, 0
			p.armTimer(now)
		}
		p.mu.Unlock()
		return nil
	}
	p.stopRunning(j, now)
	j.state = requeued
	p.enqueue(j, now)
	p.mu.Unlock()
	return p.awaitToken(j)
}

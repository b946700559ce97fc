package cpu

import (
	"context"
	"math"
	"sync/atomic"
	"time"
)

// Job is a running function, and the context of that function. A hot loop gets the Job with From, so that a checkpoint needs
// no look-up in a context. A Job is valid as long as its context. It does nothing once the function has returned.
type Job struct {
	context.Context // argument of Do

	pool          *Pool
	pc            uintptr    // address of the function's code, for the name in Stats
	due           *int32     // &j.checkpointDue. Through the pointer Checkpoint is just short enough to be inlined
	checkpointDue int32      // 0, or checkpointNow: the next checkpoint calls pause
	granted       chan error // receives nil for a token, or ErrClosed if the job never starts

	// Guarded by pool.mu.
	state      state
	overran    bool          // the job did not yield in time when it was last asked
	index      int           // index in Pool.running or Pool.runningLent
	level      int           // level in the queue
	prev, next *Job          // neighbours in the queue
	queued     time.Duration // when the job joined the queue
	turnStart  time.Duration // when the current turn began
	yieldAsked time.Duration // when the job was asked to yield in this turn; 0 if it was not
	attained   time.Duration // running time before this turn

	// Owned by the goroutine that runs the function.
	stopContextWatch func() bool   // from context.AfterFunc; nil before the first checkpoint
	skip             int32         // checkpoints until the next call of skipCheckpoints
	skipped          int32         // value of skip after the last call
	lastPreempt      time.Duration // when letKernelPreempt was last called by this job, or by an earlier one of the pool
}

// checkpointNow is a value of Job.checkpointDue that no Job.skip reaches.
const checkpointNow = math.MaxInt32

// newJob returns a Job that is not in a pool yet.
func newJob(ctx context.Context) *Job {
	j := &Job{Context: ctx}
	j.due = &j.checkpointDue
	return j
}

// setDue makes the next checkpoint call pause.
func (j *Job) setDue() { atomic.StoreInt32(j.due, checkpointNow) }

// state is the phase of a job. Only a running job counts against the pool's tokens.
//
//	queuedNew ──► running ◄──► runningLent     its token was lent, or came back
//	                │ ▲            │
//	       Blocking,│ │granted     │Checkpoint, Blocking
//	      Checkpoint▼ │            ▼
//	            detached, requeued
//
// Every other state may be followed by finished.
type state uint8

const (
	detached    state = iota // in Blocking: the job neither runs nor waits for a token
	queuedNew                // the job waits for its first token
	running                  // the job holds a token
	runningLent              // the job runs without a token
	requeued                 // the job waits for a token to continue
	finished
)

type jobKey struct{}

// Value returns the job for the package's own key, so that contexts derived from the job's context find it.
func (j *Job) Value(k any) any {
	if k == (jobKey{}) {
		return j
	}
	return j.Context.Value(k)
}

// jobOf returns the innermost job of ctx, or nil.
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

// From returns the job of ctx, for a loop in which each nanosecond counts. The Job watches the context passed to Do, not a
// context derived from it. Outside a pool the Checkpoint of the result only returns the error of ctx.
func From(ctx context.Context) *Job {
	if j := jobOf(ctx); j != nil {
		return j
	}
	j := newJob(ctx)
	j.setDue()
	return j
}

// Checkpoint is like the function Checkpoint, for the context passed to Do.
func (j *Job) Checkpoint() error {
	if j.skip--; j.skip >= atomic.LoadInt32(j.due) {
		return nil
	}
	return j.pause()
}

// Checkpoint yields to other jobs if that is due. Once ctx has ended, it returns the error of ctx, and the function should
// return. Usually it costs a decrement and an atomic load. The goroutine that runs the function calls it, about every
// 100 us; calling it more often is harmless. Calls for one job must not overlap: if a job starts goroutines, only one of
// them may call it at a time. In a process that TuneProcess has given short slices, it also lets the kernel preempt the
// job each 200 us. Outside a pool it only returns the error of ctx.
func Checkpoint(ctx context.Context) (err error) {
	switch j := ctx.(type) { //nolint:gocritic // a switch, and a result with a name, are just short enough to be inlined
	case *Job:
		if j.skip--; j.skip >= atomic.LoadInt32(j.due) {
			return
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

// pause is called when skip is below 0, or checkpointDue is set: the job was asked to yield, its context has ended, or this is its
// first checkpoint.
func (j *Job) pause() error {
	if j.pool == nil {
		j.skip = 0 // it would wrap around after 2^31 checkpoints, and reach checkpointNow
		return j.Err()
	}
	if j.skip < 0 {
		if j.skipCheckpoints(); atomic.LoadInt32(j.due) == 0 {
			return nil
		}
	}
	if err := j.Err(); err != nil {
		return err // checkpointDue stays set, so that every later checkpoint returns err too
	}
	atomic.StoreInt32(j.due, 0)
	if j.stopContextWatch == nil && j.Done() != nil {
		j.stopContextWatch = context.AfterFunc(j.Context, func() { j.setDue() })
	}
	return j.pool.yield(j)
}

// yield passes j's token on if another job should run first. Then it waits until j has a token again.
func (p *Pool) yield(j *Job) error {
	p.mu.Lock()
	if j.state != running && j.state != runningLent { // j has finished, or another goroutine of the job already waits for the token
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

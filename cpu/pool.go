package cpu

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// ErrBusy is wrapped in the error of Do if the queue is full. The function did not run, so trying again later is safe.
var ErrBusy = errors.New("cpu: the pool is busy")

// ErrClosed is the error of Do on a closed Pool. The function did not run.
var ErrClosed = errors.New("cpu: the pool is closed")

// Pool grants tokens to jobs. All methods may overlap.
type Pool struct {
	cfg   Config
	start time.Time // zero of the clock that now reads

	lastPreempt atomic.Int64 // when a job last called letKernelPreempt: a time.Duration of the clock that now reads

	mu          sync.Mutex
	closed      bool
	free        int    // tokens that no job holds; 0 while jobs wait
	running     []*Job // jobs that run on a token
	runningLent []*Job // jobs that run after their token was lent
	queue       queue  // jobs that wait for a token
	queuedNew   int    // jobs in queue that have not started; Config.Queue bounds them
	unfinished  int    // jobs that have started and not ended
	allFinished sync.Cond
	timer       *time.Timer
	timerDue    time.Duration // when the timer expires; 0 if it is not set
	overruns    map[functionKey]*overrunRecord
	waits       waitTimes
	jobs        uint64
	refused     uint64
	panics      uint64
}

// New returns a Pool. It starts no goroutine and changes nothing in the process. TuneProcess changes the process.
func New(cfg Config) (*Pool, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Pool{cfg: cfg, start: time.Now(), free: cfg.Tokens, overruns: make(map[functionKey]*overrunRecord)}
	p.allFinished.L = &p.mu
	return p, nil
}

// Close makes new jobs, and jobs that have not started, fail with ErrClosed. It returns when all started jobs have ended. A
// job must not close its own pool, because Close would wait for that job.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, j := range p.queue.jobs() {
		if j.state == queuedNew {
			p.queue.remove(j)
			p.queuedNew--
			j.state = finished
			j.granted <- ErrClosed
		}
	}
	for p.unfinished > 0 {
		p.allFinished.Wait()
	}
	if p.timer != nil {
		p.timer.Stop()
	}
}

// now returns the time since the pool was created.
func (p *Pool) now() time.Duration { return time.Since(p.start) }

// acquireFirst waits for j's first token.
func (p *Pool) acquireFirst(j *Job) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return ErrClosed
	}
	now := p.now()
	if p.free > 0 {
		p.free--
		p.unfinished++
		p.jobs++
		p.waits.add(now, 0)
		p.runOnToken(j, now)
		p.mu.Unlock()
		return nil
	}
	if p.queuedNew >= p.cfg.Queue {
		p.refused++
		p.mu.Unlock()
		return fmt.Errorf("%w: %d jobs wait for its %d tokens: try again later", ErrBusy, p.cfg.Queue, p.cfg.Tokens)
	}
	p.queuedNew++
	j.state = queuedNew
	p.enqueue(j, now)
	p.mu.Unlock()
	select {
	case err := <-j.granted:
		return err
	case <-j.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		switch j.state {
		case queuedNew:
			p.queue.remove(j)
			p.queuedNew--
			j.state = finished
		case running, runningLent: // the token was granted at the same moment as the context ended
			p.jobs--
			p.finishLocked(j)
		}
		return j.Err()
	}
}

// finish ends a job that has started.
func (p *Pool) finish(j *Job) {
	p.mu.Lock()
	p.finishLocked(j)
	p.mu.Unlock()
}

// finishLocked is finish for callers that hold mu. A goroutine of the job may still wait in Blocking or Checkpoint. It
// continues without a token.
func (p *Pool) finishLocked(j *Job) {
	if j.state == requeued {
		p.queue.remove(j)
		j.granted <- nil
	}
	p.stopRunning(j, p.now())
	p.recordEnd(j)
	j.state = finished
	if p.unfinished--; p.unfinished == 0 {
		p.allFinished.Broadcast()
	}
}

// awaitToken waits until a requeued job has a token. If the context ends first, awaitToken returns the context's error, and
// the job continues without a token so that it can return.
func (p *Pool) awaitToken(j *Job) error {
	select {
	case err := <-j.granted:
		return err
	case <-j.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		if j.state == requeued {
			p.queue.remove(j)
			p.runWithoutToken(j, p.now())
		} else if err := <-j.granted; err != nil { // the token was granted at the same moment as the context ended
			return err
		}
		return j.Err()
	}
}

// runOnToken records that j runs on a token. The caller has already taken that token.
func (p *Pool) runOnToken(j *Job, now time.Duration) {
	j.state, j.turnStart, j.yieldAsked = running, now, 0
	j.index = len(p.running)
	p.running = append(p.running, j)
}

// runWithoutToken records that j runs without a token.
func (p *Pool) runWithoutToken(j *Job, now time.Duration) {
	j.state, j.turnStart, j.yieldAsked = runningLent, now, 0
	j.index = len(p.runningLent)
	p.runningLent = append(p.runningLent, j)
}

// stopRunning removes j from the running jobs. If j holds a token, stopRunning passes the token on.
func (p *Pool) stopRunning(j *Job, now time.Duration) {
	switch j.state {
	case running:
		j.attained += now - j.turnStart
		p.running = removeJob(p.running, j)
		p.passToken(now)
	case runningLent:
		j.attained += now - j.turnStart
		p.runningLent = removeJob(p.runningLent, j)
	}
	j.state = detached
}

// removeJob removes j from a set. The last job of the set moves to the free index.
func removeJob(set []*Job, j *Job) []*Job {
	last := set[len(set)-1]
	set[j.index], last.index = last, j.index
	set[len(set)-1] = nil
	return set[:len(set)-1]
}

// enqueue adds j to the queue. The caller sets its state.
func (p *Pool) enqueue(j *Job, now time.Duration) {
	if j.granted == nil {
		j.granted = make(chan error, 1)
	}
	j.queued, j.level = now, p.level(j.attained)
	p.queue.push(j)
	p.supervise(now)
}

// passToken gives a free token to the next job. A job that runs after its token was lent counts as waiting, by its age. It
// gets the token back unless the first job in the queue is younger.
func (p *Pool) passToken(now time.Duration) {
	best := p.firstInLine()
	var lender *Job // youngest job of runningLent
	for _, l := range p.runningLent {
		if lender == nil || p.age(l, now) < p.age(lender, now) {
			lender = l
		}
	}
	switch {
	case lender != nil && (best == nil || p.level(p.age(lender, now)) <= best.level):
		p.runningLent = removeJob(p.runningLent, lender)
		lender.state, lender.index = running, len(p.running)
		p.running = append(p.running, lender)
	case best != nil:
		p.grant(p.queue.next(), now)
	default:
		p.free++
	}
	p.armTimer(now)
}

// grant gives a token to a waiting job.
func (p *Pool) grant(j *Job, now time.Duration) {
	p.queue.remove(j)
	if j.state == queuedNew {
		p.queuedNew--
		p.unfinished++
		p.jobs++
		p.waits.add(now, now-j.queued)
	}
	p.runOnToken(j, now)
	j.granted <- nil
}

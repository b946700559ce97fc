package cpu

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrBusy is inside the error of a Do that found the queue full. Nothing ran; trying again later is safe.
var ErrBusy = errors.New("cpu: the pool is busy")

// ErrClosed is the error of a Do on a closed Pool. Nothing ran.
var ErrClosed = errors.New("cpu: the pool is closed")

// Pool hands tokens to jobs. All methods may be called at the same time from any goroutine.
type Pool struct {
	cfg   Config
	start time.Time // p.now counts from here

	mu       sync.Mutex
	closed   bool
	free     int    // tokens nobody holds; 0 while somebody waits
	holders  []*Job // run on a token
	lenders  []*Job // run on, though their token was lent
	queue    queue  // wait for a token
	fresh    int    // of those, the ones that have not started: what Config.Queue bounds
	unended  int    // jobs that started and did not end
	ended    sync.Cond
	timer    *time.Timer
	due      time.Duration // when the timer rings; 0 while it is not set
	habits   map[key]*habit
	waits    waits
	jobs     uint64
	refusals uint64
	panics   uint64
}

// New returns a Pool. It starts no goroutine and changes nothing of the process: see TuneProcess for that.
func New(cfg Config) (*Pool, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Pool{cfg: cfg, start: time.Now(), free: cfg.Tokens, habits: make(map[key]*habit)}
	p.ended.L = &p.mu
	return p, nil
}

// Close refuses new jobs and those that still wait to start, with ErrClosed, and returns when all that started have ended. A
// job must not close its own pool: it would wait for itself.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, j := range p.queue.jobs() {
		if j.state == fresh {
			p.queue.remove(j)
			p.fresh--
			j.state = over
			j.turn <- ErrClosed
		}
	}
	for p.unended > 0 {
		p.ended.Wait()
	}
	if p.timer != nil {
		p.timer.Stop()
	}
}

// now is the time since the pool was made.
func (p *Pool) now() time.Duration { return time.Since(p.start) }

// enter gets j its first token.
func (p *Pool) enter(j *Job) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return ErrClosed
	}
	now := p.now()
	if p.free > 0 {
		p.free--
		p.unended++
		p.jobs++
		p.waits.add(now, 0)
		p.hold(j, now)
		p.mu.Unlock()
		return nil
	}
	if p.fresh >= p.cfg.Queue {
		p.refusals++
		p.mu.Unlock()
		return fmt.Errorf("%w: %d jobs wait for its %d tokens: try again later", ErrBusy, p.cfg.Queue, p.cfg.Tokens)
	}
	p.fresh++
	j.state = fresh
	p.line(j, now)
	p.mu.Unlock()
	select {
	case err := <-j.turn:
		return err
	case <-j.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		switch j.state {
		case fresh:
			p.queue.remove(j)
			p.fresh--
			j.state = over
		case holding, lent: // the token came at the same moment
			p.jobs--
			p.end(j)
		}
		return j.Err()
	}
}

// leave ends a job that has started.
func (p *Pool) leave(j *Job) {
	p.mu.Lock()
	p.end(j)
	p.mu.Unlock()
}

// end is the end of a job's function. A goroutine of the job may still wait in Blocking or Checkpoint: it goes on without a
// token.
func (p *Pool) end(j *Job) {
	if j.state == waiting {
		p.queue.remove(j)
		j.turn <- nil
	}
	p.letGo(j, p.now())
	p.remember(j)
	j.state = over
	if p.unended--; p.unended == 0 {
		p.ended.Broadcast()
	}
}

// back gets a job that has started and holds no token another one. If ctx ends first, the job runs on as one whose token was
// lent, to wind up, and back returns the context's error.
func (p *Pool) back(j *Job) error {
	select {
	case err := <-j.turn:
		return err
	case <-j.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		if j.state == waiting {
			p.queue.remove(j)
			p.lender(j, p.now())
		} else if err := <-j.turn; err != nil { // the token came at the same moment
			return err
		}
		return j.Err()
	}
}

// hold lets j run on a token that is nobody's.
func (p *Pool) hold(j *Job, now time.Duration) {
	j.state, j.began, j.asked = holding, now, 0
	j.place = len(p.holders)
	p.holders = append(p.holders, j)
}

// lender lets j run without a token.
func (p *Pool) lender(j *Job, now time.Duration) {
	j.state, j.began, j.asked = lent, now, 0
	j.place = len(p.lenders)
	p.lenders = append(p.lenders, j)
}

// letGo takes j from those that run, and passes its token on if it has one.
func (p *Pool) letGo(j *Job, now time.Duration) {
	switch j.state {
	case holding:
		j.attained += now - j.began
		p.holders = drop(p.holders, j)
		p.pass(now)
	case lent:
		j.attained += now - j.began
		p.lenders = drop(p.lenders, j)
	}
	j.state = away
}

// drop takes j out of a set; the last of the set takes its place.
func drop(set []*Job, j *Job) []*Job {
	last := set[len(set)-1]
	set[j.place], last.place = last, j.place
	set[len(set)-1] = nil
	return set[:len(set)-1]
}

// line has j wait. The caller sets its state.
func (p *Pool) line(j *Job, now time.Duration) {
	if j.turn == nil {
		j.turn = make(chan error, 1)
	}
	j.queued, j.level = now, p.level(j.attained)
	p.queue.push(j)
	p.watch(now)
}

// pass gives a token to whoever is next. A job that lent its own has a place in the line, by its age, though it runs.
func (p *Pool) pass(now time.Duration) {
	best := p.best()
	var back *Job
	for _, l := range p.lenders {
		if back == nil || p.age(l, now) < p.age(back, now) {
			back = l
		}
	}
	switch {
	case back != nil && (best == nil || p.level(p.age(back, now)) <= best.level):
		p.lenders = drop(p.lenders, back)
		back.state, back.place = holding, len(p.holders)
		p.holders = append(p.holders, back)
	case best != nil:
		p.grant(p.queue.next(), now)
	default:
		p.free++
	}
	p.arm(now)
}

// grant gives a token to a job that waits.
func (p *Pool) grant(j *Job, now time.Duration) {
	p.queue.remove(j)
	if j.state == fresh {
		p.fresh--
		p.unended++
		p.jobs++
		p.waits.add(now, now-j.queued)
	}
	p.hold(j, now)
	j.turn <- nil
}

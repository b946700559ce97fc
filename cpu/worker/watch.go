package worker

import (
	"fmt"
	"sync"
	"time"
)

// watch ends a request that is no longer wanted: it tells the process, and kills it if the request has not ended after
// Grace. Timers and contexts call it while its process's holder reads.
type watch struct {
	process *process

	mu      sync.Mutex
	run     uint64 // which exchange: what a context of an earlier one says is too late
	active  bool   // a request is being handled
	current uint64 // the number of the request handled
	last    uint64 // the number of the last one sent
	stopped error  // why the current one is not wanted
	closed  error  // why none is
	timer   *time.Timer
	due     time.Time     // when the current stage is over; zero: never
	left    time.Duration // of it, while paused
}

// begin starts an exchange.
func (w *watch) begin() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.run++
	w.active, w.stopped, w.closed = false, nil, nil
	return w.run
}

// sent is told that requests up to number are about to be sent. It forbids it if none are wanted.
func (w *watch) sent(number uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed != nil {
		return false
	}
	if !w.active {
		w.active, w.current = true, w.last+1
		w.arm(w.process.cfg.Deadline)
	}
	w.last = number
	return true
}

// next is told that the current request has ended and the one after it is handled.
func (w *watch) next() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.current++
	w.stopped = nil
	w.active = w.current <= w.last
	switch {
	case !w.active:
		w.disarm()
	case w.closed != nil:
		w.arm(w.process.cfg.Grace)
	default:
		w.arm(w.process.cfg.Deadline)
	}
}

// finish ends an exchange.
func (w *watch) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.run++
	w.active = false
	w.disarm()
}

// cause says why the current request is not wanted; nil if it is.
func (w *watch) cause() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped != nil {
		return w.stopped
	}
	return w.closed
}

// stop ends the current request.
func (w *watch) stop(why error) {
	w.mu.Lock()
	if !w.active || w.stopped != nil || w.closed != nil {
		w.mu.Unlock()
		return
	}
	w.stopped = why
	number := w.current
	w.arm(w.process.cfg.Grace)
	w.mu.Unlock()
	w.tell(number)
}

// end ends all requests of an exchange.
func (w *watch) end(run uint64, why error) {
	w.mu.Lock()
	if run != w.run || w.closed != nil {
		w.mu.Unlock()
		return
	}
	w.closed = why
	number, active := w.last, w.active
	if active && w.stopped == nil {
		w.arm(w.process.cfg.Grace)
	}
	w.mu.Unlock()
	if active {
		w.tell(number)
	}
}

// tell asks the process to end requests. If that fails it is going, or will be killed.
func (w *watch) tell(number uint64) { _, _ = w.process.conn.Write(cancelFrame(number)) }

// pause stops the clock of the current request. A grace period goes on.
func (w *watch) pause() {
	if w.process.cfg.Deadline == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.active && w.stopped == nil && w.closed == nil {
		w.left = max(time.Until(w.due), time.Nanosecond)
		w.disarm()
	}
}

// resume lets the clock go on after pause.
func (w *watch) resume() {
	if w.process.cfg.Deadline == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.active && w.stopped == nil && w.closed == nil {
		w.arm(w.left)
	}
}

// arm has expire called after d, unless it is 0. The caller holds mu.
func (w *watch) arm(d time.Duration) {
	if d == 0 {
		return
	}
	w.due = time.Now().Add(d)
	if w.timer == nil {
		w.timer = time.AfterFunc(d, w.expire)
		return
	}
	w.timer.Reset(d)
}

func (w *watch) disarm() {
	w.due = time.Time{}
	if w.timer != nil {
		w.timer.Stop()
	}
}

// expire is called when a stage is over, or was and has been put off since.
func (w *watch) expire() {
	w.mu.Lock()
	if !w.active || w.due.IsZero() || time.Now().Before(w.due) {
		w.mu.Unlock()
		return
	}
	over := w.stopped != nil || w.closed != nil
	w.mu.Unlock()
	if over {
		w.process.kill()
		return
	}
	w.stop(fmt.Errorf("%w: %s took longer than %v", ErrDeadline, w.process.cfg.Name, w.process.cfg.Deadline))
}

package worker

import (
	"fmt"
	"sync"
	"time"
)

// canceller cancels requests: one request at its deadline, or all when the context of a run ends. It sends CANCEL to
// the process. It kills the process if the request has not ended after Grace. Timers and contexts call it while another
// goroutine reads from the process.
type canceller struct {
	process *process

	mu           sync.Mutex
	runID        uint64 // the current run; contexts of earlier runs cancel nothing
	active       bool   // a request is being handled
	current      uint64 // number of the request being handled
	lastSent     uint64 // number of the last request sent
	currentCause error  // why the current request was cancelled
	runCause     error  // why the run was cancelled
	timer        *time.Timer
	deadline     time.Time     // when the timer expires; zero means never
	remaining    time.Duration // time left until deadline, while paused
}

// beginRun is called before the first request of a run.
func (w *canceller) beginRun() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runID++
	w.active, w.currentCause, w.runCause = false, nil, nil
	return w.runID
}

// requestsSent is called before the requests up to number are written. It returns false if the run is cancelled.
func (w *canceller) requestsSent(number uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runCause != nil {
		return false
	}
	if !w.active {
		w.active, w.current = true, w.lastSent+1
		w.arm(w.process.cfg.Deadline)
	}
	w.lastSent = number
	return true
}

// nextRequest is called when the current request has ended. The next request is then the current one.
func (w *canceller) nextRequest() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.current++
	w.currentCause = nil
	w.active = w.current <= w.lastSent
	switch {
	case !w.active:
		w.disarm()
	case w.runCause != nil:
		w.arm(w.process.cfg.Grace)
	default:
		w.arm(w.process.cfg.Deadline)
	}
}

// endRun is called after the last request of a run.
func (w *canceller) endRun() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runID++
	w.active = false
	w.disarm()
}

// cause returns why the current request was cancelled, or nil if it was not.
func (w *canceller) cause() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.currentCause != nil {
		return w.currentCause
	}
	return w.runCause
}

// cancelCurrent cancels the current request.
func (w *canceller) cancelCurrent(why error) {
	w.mu.Lock()
	if !w.active || w.currentCause != nil || w.runCause != nil {
		w.mu.Unlock()
		return
	}
	w.currentCause = why
	number := w.current
	w.arm(w.process.cfg.Grace)
	w.mu.Unlock()
	w.sendCancel(number)
}

// cancelRun cancels all requests of a run, unless the run has ended.
func (w *canceller) cancelRun(run uint64, why error) {
	w.mu.Lock()
	if run != w.runID || w.runCause != nil {
		w.mu.Unlock()
		return
	}
	w.runCause = why
	number, active := w.lastSent, w.active
	if active && w.currentCause == nil {
		w.arm(w.process.cfg.Grace)
	}
	w.mu.Unlock()
	if active {
		w.sendCancel(number)
	}
}

// sendCancel writes a CANCEL. A write error is ignored: the process has ended, or will be killed.
func (w *canceller) sendCancel(number uint64) { _, _ = w.process.conn.Write(cancelFrame(number)) }

// pause stops the deadline of the current request. A grace period is not paused.
func (w *canceller) pause() {
	if w.process.cfg.Deadline == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.active && w.currentCause == nil && w.runCause == nil {
		w.remaining = max(time.Until(w.deadline), time.Nanosecond)
		w.disarm()
	}
}

// resume continues the deadline after a pause.
func (w *canceller) resume() {
	if w.process.cfg.Deadline == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.active && w.currentCause == nil && w.runCause == nil {
		w.arm(w.remaining)
	}
}

// arm makes the timer call expire after d. If d is 0, it does nothing. The caller holds mu.
func (w *canceller) arm(d time.Duration) {
	if d == 0 {
		return
	}
	w.deadline = time.Now().Add(d)
	if w.timer == nil {
		w.timer = time.AfterFunc(d, w.expire)
		return
	}
	w.timer.Reset(d)
}

func (w *canceller) disarm() {
	w.deadline = time.Time{}
	if w.timer != nil {
		w.timer.Stop()
	}
}

// expire is called by the timer. The deadline or the grace period is over, unless it was moved since.
func (w *canceller) expire() {
	w.mu.Lock()
	if !w.active || w.deadline.IsZero() || time.Now().Before(w.deadline) {
		w.mu.Unlock()
		return
	}
	over := w.currentCause != nil || w.runCause != nil
	w.mu.Unlock()
	if over {
		w.process.kill()
		return
	}
	w.cancelCurrent(fmt.Errorf("%w: %s took longer than %v", ErrDeadline, w.process.cfg.Name, w.process.cfg.Deadline))
}

package cpu

import "context"

// Blocking returns the job's token while f waits for something else than the CPU. After f it waits until the job has a token
// again, and returns f's error. If ctx ends during that wait, Blocking returns f's error or else that of ctx, and the function
// should return. If the job's function has returned already, no token is needed. Outside a pool Blocking only calls f.
func Blocking(ctx context.Context, f func() error) (err error) {
	j := jobOf(ctx)
	if j == nil || j.pool == nil || !j.pool.detach(j) {
		return f()
	}
	defer func() {
		if attachErr := j.pool.reattach(j); err == nil {
			err = attachErr
		}
	}()
	return f()
}

// detach stops counting j as running, and passes its token on if it holds one. It returns false if j is detached already, or
// does not run: then there is nothing to reattach.
func (p *Pool) detach(j *Job) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if j.state != running && j.state != runningLent {
		return false
	}
	p.stopRunning(j, p.now())
	return true
}

// reattach waits until j has a token again.
func (p *Pool) reattach(j *Job) error {
	p.mu.Lock()
	if j.state == finished { // the function returned while f ran: no call would return a token
		p.mu.Unlock()
		return nil
	}
	now := p.now()
	if p.free > 0 {
		p.free--
		p.runOnToken(j, now)
		p.mu.Unlock()
		return nil
	}
	j.state = requeued
	p.enqueue(j, now)
	p.mu.Unlock()
	return p.awaitToken(j)
}

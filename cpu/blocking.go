package cpu

import "context"

// Blocking returns the job's token while f waits for something other than the CPU. After f it waits until the job has a token
// again. Then it returns the error of f. If ctx ends during that wait, Blocking returns the error of f, or the error of ctx if
// f returned nil. The function should then return. If the job's function has already returned, Blocking does not wait for a
// token. Outside a pool Blocking only calls f.
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

// detach stops counting j as running. If j holds a token, detach passes the token on. It returns false if j is already
// detached or does not run: then there is nothing to reattach.
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
	if j.state == finished { // the function returned while f ran: a new token would never be returned
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

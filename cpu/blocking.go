package cpu

import "context"

// Blocking hands the job's token back while f waits for something else than the CPU, and returns f's error when the job has
// one again, or the job's function has returned. If ctx ends while it waits for that, Blocking returns f's error or else that of ctx, and the function should
// return. Outside a pool it just calls f.
func Blocking(ctx context.Context, f func() error) (err error) {
	j := jobOf(ctx)
	if j == nil || j.pool == nil || !j.pool.stepOut(j) {
		return f()
	}
	defer func() {
		if back := j.pool.stepIn(j); err == nil {
			err = back
		}
	}()
	return f()
}

// stepOut takes j's token; false if it runs without one already.
func (p *Pool) stepOut(j *Job) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if j.state != holding && j.state != lent {
		return false
	}
	p.letGo(j, p.now())
	return true
}

// stepIn gets j a token again.
func (p *Pool) stepIn(j *Job) error {
	p.mu.Lock()
	if j.state == over { // the function returned while f ran: a token would never be given back
		p.mu.Unlock()
		return nil
	}
	now := p.now()
	if p.free > 0 {
		p.free--
		p.hold(j, now)
		p.mu.Unlock()
		return nil
	}
	j.state = waiting
	p.line(j, now)
	p.mu.Unlock()
	return p.back(j)
}

package cpu

import "time"

// maxLent is the most jobs that may run after their token was lent.
const maxLent = 16

// supervise runs while jobs wait. It asks running jobs to yield and lends the tokens of jobs that do not. It is called when a
// job begins to wait, and then by the timer. An idle pool has no timer.
func (p *Pool) supervise(now time.Duration) {
	if p.queue.len == 0 {
		return
	}
	for _, running := range [...][]*Job{p.running, p.runningLent} {
		for _, j := range running {
			if !j.overran && j.yieldAsked > 0 && now-j.yieldAsked >= p.cfg.Lend {
				p.recordOverrun(j, now)
			}
		}
	}
	for len(p.runningLent) < maxLent {
		best := p.firstInLine()
		if best == nil {
			break
		}
		j := p.overdue(best, now)
		if j == nil {
			break
		}
		p.lend(j, now)
		p.grant(best, now)
	}
	if best := p.firstInLine(); best != nil {
		for _, j := range p.running {
			if j.yieldAsked == 0 && p.shouldYield(j, best, now) {
				j.yieldAsked = now
				j.setDue()
			}
		}
	}
	p.armTimer(now)
}

// shouldYield reports whether j should yield to best. It should at the end of its slice, or after a first slice if best has a
// lower level.
func (p *Pool) shouldYield(j, best *Job, now time.Duration) bool {
	level := p.level(p.age(j, now))
	ran := now - j.turnStart
	return best.level < level && ran >= p.cfg.FirstSlice || best.level <= level && ran >= p.slice(j.attained)
}

// overdue returns the oldest job whose token may be lent to best, or nil if there is none. If best has run before, the oldest
// job must have at least the same level. If best is new, it must be expected to be shorter. So jobs of a function that never
// checkpoints wait for each other. Running all of them together would not be faster and would occupy the processor that is
// left for I/O.
func (p *Pool) overdue(best *Job, now time.Duration) *Job {
	var oldest *Job
	for _, j := range p.running {
		late := p.lendableAt(j) <= now
		if best.state == queuedNew {
			late = late && p.doublings(p.age(j, now)) > p.expectedDoublings(best)
		} else {
			late = late && p.level(p.age(j, now)) >= best.level
		}
		if late && (oldest == nil || p.age(j, now) > p.age(oldest, now)) {
			oldest = j
		}
	}
	return oldest
}

// lendableAt returns the time after which j's token may be lent. Normally that is Config.Lend after j was asked to yield. It
// is the start of the turn if j, or the last job of its name, has overrun before.
func (p *Pool) lendableAt(j *Job) time.Duration {
	switch {
	case j.overran || p.expectedDoublings(j) > 0:
		return j.turnStart
	case j.yieldAsked > 0:
		return j.yieldAsked + p.cfg.Lend
	default:
		return never
	}
}

const never = time.Duration(1<<63 - 1)

// lend frees j's token for another job, although j continues to run.
func (p *Pool) lend(j *Job, now time.Duration) {
	p.running = removeJob(p.running, j)
	j.state, j.index = runningLent, len(p.runningLent)
	p.runningLent = append(p.runningLent, j)
	if j.yieldAsked == 0 {
		j.yieldAsked = now
		j.setDue()
	}
}

// armTimer sets the timer to the next time at which supervise may have work.
func (p *Pool) armTimer(now time.Duration) {
	if p.queue.len == 0 {
		return
	}
	wait := p.cfg.Lend / 2
	for _, j := range p.running {
		for _, at := range [...]time.Duration{j.turnStart + p.cfg.FirstSlice, j.turnStart + p.slice(j.attained), p.lendableAt(j)} {
			if at > now {
				wait = min(wait, at-now)
			}
		}
	}
	if p.timerDue > now && p.timerDue <= now+wait {
		return
	}
	p.timerDue = now + wait
	if p.timer == nil {
		p.timer = time.AfterFunc(wait, p.timerFired)
	} else {
		p.timer.Reset(wait)
	}
}

// timerFired is called when the timer expires.
func (p *Pool) timerFired() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timerDue = 0
	p.supervise(p.now())
}

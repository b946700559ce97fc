package cpu

import "time"

// maxLent bounds how many jobs run without a token because they lent it.
const maxLent = 16

// watch asks jobs to yield and lends the tokens of those that do not, as long as somebody waits. It is called whenever
// somebody begins to wait, and by the timer whenever something falls due after that. An idle pool has no timer.
func (p *Pool) watch(now time.Duration) {
	if p.queue.len == 0 {
		return
	}
	for _, running := range [...][]*Job{p.holders, p.lenders} {
		for _, j := range running {
			if !j.proven && j.asked > 0 && now-j.asked >= p.cfg.Lend {
				p.blame(j, now)
			}
		}
	}
	for len(p.lenders) < maxLent {
		best := p.best()
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
	if best := p.best(); best != nil {
		for _, j := range p.holders {
			if j.asked == 0 && p.shouldYield(j, best, now) {
				j.asked = now
				j.ask.Store(1)
			}
		}
	}
	p.arm(now)
}

// shouldYield says whether j has to make room for best: at the end of its slice, or after a first slice's time for one
// that has had less time.
func (p *Pool) shouldYield(j, best *Job, now time.Duration) bool {
	level := p.level(p.age(j, now))
	ran := now - j.began
	return best.level < level && ran >= p.cfg.FirstSlice || best.level <= level && ran >= p.slice(j.attained)
}

// overdue returns the oldest job that keeps its token though best should have it; nil if there is none. A job that yielded
// waits for its equals to do so too. A new one has to be shorter: where several jobs of a kind that never checkpoints wait for
// each other, all of them at once would be no faster, and would take the processor that is there for I/O.
func (p *Pool) overdue(best *Job, now time.Duration) *Job {
	var oldest *Job
	for _, j := range p.holders {
		late := p.lendable(j) <= now
		if best.state == fresh {
			late = late && p.doublings(p.age(j, now)) > p.expected(best)
		} else {
			late = late && p.level(p.age(j, now)) >= best.level
		}
		if late && (oldest == nil || p.age(j, now) > p.age(oldest, now)) {
			oldest = j
		}
	}
	return oldest
}

// lendable is when j's token may be lent: when it has ignored that it was asked, or at once if it, or the last of its kind,
// has done so before.
func (p *Pool) lendable(j *Job) time.Duration {
	switch {
	case j.proven || p.expected(j) > 0:
		return j.began
	case j.asked > 0:
		return j.asked + p.cfg.Lend
	default:
		return never
	}
}

const never = time.Duration(1<<63 - 1)

// lend takes j's token while j runs on.
func (p *Pool) lend(j *Job, now time.Duration) {
	p.holders = drop(p.holders, j)
	j.state, j.place = lent, len(p.lenders)
	p.lenders = append(p.lenders, j)
	if j.asked == 0 {
		j.asked = now
		j.ask.Store(1)
	}
}

// arm sets the timer to when a job that runs has to be looked at again.
func (p *Pool) arm(now time.Duration) {
	if p.queue.len == 0 {
		return
	}
	wait := p.cfg.Lend / 2
	for _, j := range p.holders {
		for _, at := range [...]time.Duration{j.began + p.cfg.FirstSlice, j.began + p.slice(j.attained), p.lendable(j)} {
			if at > now {
				wait = min(wait, at-now)
			}
		}
	}
	if p.due > now && p.due <= now+wait {
		return
	}
	p.due = now + wait
	if p.timer == nil {
		p.timer = time.AfterFunc(wait, p.ring)
	} else {
		p.timer.Reset(wait)
	}
}

// ring is the timer's call.
func (p *Pool) ring() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.due = 0
	p.watch(p.now())
}

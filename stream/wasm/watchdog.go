package wasm

import (
	"slices"
	"time"
)

// ended says why the watchdog has ended an instance.
type ended uint8

const (
	notEnded ended = iota
	endedByTimeout
	endedByContext
	endedByClose
)

// The watchdog looks at busy instances a few times in a timeout: so no call needs a timer, a goroutine or a look at the clock.
const (
	looksPerTimeout = 8
	maxLook         = 100 * time.Millisecond
)

func (p *Pool) interval() time.Duration {
	return min(max(p.cfg.Timeout/looksPerTimeout, time.Millisecond), maxLook)
}

// startWatching starts the timer. It stops by itself when nothing has run between two looks. p.mu is held.
func (p *Pool) startWatching() {
	p.watching, p.watched = true, time.Now()
	p.timer.Reset(p.interval())
}

// watch ends the instances that take too long, and those whose context has ended.
func (p *Pool) watch() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	elapsed := now.Sub(p.watched)
	p.watched, p.watching = now, false
	for _, i := range slices.Concat(p.all, p.starting) {
		p.watching = p.watching || i.busy || i.seen != i.calls
		i.look(elapsed)
		if !i.busy && i.fresh != i.calls && i.ended == notEnded {
			i.renew() // an idle instance keeps no stack of a deep recursion
		}
	}
	if p.watching && !p.closed {
		p.timer.Reset(p.interval())
	}
}

// look counts elapsed for the call of i, unless it began since the last look or waits outside the guest. p.mu is held.
func (i *instance) look(elapsed time.Duration) {
	if i.seen != i.calls {
		i.seen, i.spent = i.calls, 0
		elapsed = 0
	}
	if !i.busy || i.outside.Load() {
		return
	}
	i.spent += elapsed
	switch {
	case i.ctx.Err() != nil:
		i.stop(endedByContext)
	case i.spent >= i.limit:
		i.stop(endedByTimeout)
	}
}

// stop ends the call that runs in i: at the guest's next point of preemption, and in a host function at once. i is not used again.
// p.mu is held.
func (i *instance) stop(why ended) {
	if i.ended == notEnded {
		i.ended = why
		close(i.stopped)
		i.stopGlobal.Set(1)
	}
}

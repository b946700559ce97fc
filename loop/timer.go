package loop

import "time"

// Timer calls a function on its loop after a while, for what belongs to no connection. Its methods are for its loop only.
type Timer struct {
	loop  *Loop
	f     func()
	entry entry
	at    uint32
	armed bool
}

// NewTimer returns a timer that is not set.
func (l *Loop) NewTimer(f func()) *Timer {
	t := &Timer{loop: l, f: f}
	t.entry = entry{owner: t, level: notInWheel}
	return t
}

// Set has the timer go off once, d from the loop's clock on, rounded up to 10 ms, whether it was set before or not.
func (t *Timer) Set(d time.Duration) {
	t.at, t.armed = t.loop.tickAfter(d), true
	t.loop.wheel.schedule(&t.entry, t.at)
}

// Stop has it not go off.
func (t *Timer) Stop() { t.armed = false }

func (t *Timer) due() (uint32, bool) { return t.at, t.armed }

func (t *Timer) expire(uint32) {
	t.armed = false
	t.f()
}

// Timers is how many timers a connection has.
const Timers = 4

const (
	ownTimer  = Timers // of the loop itself: connecting, and writing what is left after Close
	allTimers = Timers + 1
)

// timers are those of one connection: they share one entry in the wheel, which lies at or before the earliest.
type timers struct {
	entry entry
	at    [allTimers]uint32
	armed uint8 // a bit each
}

func (t *timers) due() (at uint32, ok bool) {
	for i := range t.at {
		if t.armed&(1<<i) != 0 && (!ok || after(at, t.at[i])) {
			at, ok = t.at[i], true
		}
	}
	return at, ok
}

// SetTimer has Handler.Timer called once with which, 0 to Timers-1, d from the loop's clock on, rounded up to 10 ms. A timer
// that is set again is moved; to move it to later costs a store.
func (c *Conn) SetTimer(which int, d time.Duration) {
	if uint(which) >= Timers {
		panic("loop: no such timer: a connection has timers 0 to 3")
	}
	c.setTimer(which, d)
}

func (c *Conn) setTimer(which int, d time.Duration) {
	if c.is(dead) {
		return
	}
	at := c.loop.tickAfter(d)
	c.timers.at[which] = at
	c.timers.armed |= 1 << which
	c.loop.wheel.schedule(&c.timers.entry, at)
}

// StopTimer has Handler.Timer not called.
func (c *Conn) StopTimer(which int) {
	if uint(which) < Timers {
		c.stopTimer(which)
	}
}

func (c *Conn) stopTimer(which int) { c.timers.armed &^= 1 << which }

func (c *Conn) due() (uint32, bool) { return c.timers.due() }

func (c *Conn) expire(now uint32) {
	for i := range allTimers {
		if c.is(dead) {
			c.timers.armed = 0
		}
		if c.timers.armed&(1<<i) == 0 || after(c.timers.at[i], now) {
			continue
		}
		c.stopTimer(i)
		if i == ownTimer {
			c.expired()
		} else {
			c.handler.Timer(c, i)
		}
	}
}

package loop

import (
	"math"
	"time"
)

// Timer calls a function on its loop after a time. It is for timeouts that belong to no connection. Only code on its loop may
// call the methods.
type Timer struct {
	loop     *Loop
	f        func()
	entry    wheelEntry
	deadline uint64 // tick at which the timer expires
	armed    bool
}

// NewTimer returns a timer that is not set.
func (l *Loop) NewTimer(f func()) *Timer {
	t := &Timer{loop: l, f: f}
	t.entry = wheelEntry{owner: t, level: notInWheel}
	return t
}

// Set makes the timer call its function once, d after Loop.Now, rounded up to 10 ms. It replaces an earlier Set. Every value
// of d is valid; a negative one counts as 0.
func (t *Timer) Set(d time.Duration) {
	t.deadline, t.armed = t.loop.tickAfter(d), true
	t.loop.wheel.schedule(&t.entry, t.deadline)
}

// Stop cancels the timer.
func (t *Timer) Stop() { t.armed = false }

func (t *Timer) nextDeadline() (uint64, bool) { return t.deadline, t.armed }

func (t *Timer) expire(uint64) {
	t.armed = false
	t.f()
}

// Timers is how many timers a connection has.
const Timers = 4

const (
	internalTimer = Timers // limits connecting, the handshake of a layer, and flushing after Close
	allTimers     = Timers + 1
)

// A deadline of a connection's timer has 32 bits, to keep a Conn small. A deadline within nearTicks (248 days) is a tick,
// modulo 2^32. A later deadline counts units of 2^farBits ticks (11 minutes), rounded up. Such units cover every
// time.Duration.
const (
	nearTicks = 1<<31 - 1
	farBits   = 16
)

func (c *Conn) setDeadline(i int, at uint64) {
	c.entry.armed |= 1 << i
	if at-c.loop.wheel.now <= nearTicks {
		c.entry.far &^= 1 << i
		c.deadlines[i] = uint32(at)
		return
	}
	c.entry.far |= 1 << i
	c.deadlines[i] = uint32((at + 1<<farBits - 1) >> farBits)
}

func (c *Conn) deadline(i int) (at uint64, ok bool) {
	switch {
	case c.entry.armed&(1<<i) == 0:
		return 0, false
	case c.entry.far&(1<<i) != 0:
		return uint64(c.deadlines[i]) << farBits, true
	}
	return c.loop.wheel.fullTick(c.deadlines[i]), true
}

// SetTimer makes the loop call Handler.Timer once with which, d after Loop.Now. which is 0 to Timers-1. d is rounded up to 10
// ms, and above 248 days to 11 minutes. Every value of d is valid; a negative one counts as 0. Setting a timer again replaces
// its deadline. Setting it to a later time costs only a store.
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
	c.setDeadline(which, at)
	c.loop.wheel.schedule(&c.entry, at)
}

// TimerDeadline returns when a timer expires, as Loop.Now shows the time, rounded as SetTimer says. set is false if the timer
// is not set.
func (c *Conn) TimerDeadline(which int) (at time.Duration, set bool) {
	ticks, set := c.deadline(which)
	return time.Duration(min(ticks, math.MaxInt64/uint64(tick))) * tick, set
}

// StopTimer cancels a timer.
func (c *Conn) StopTimer(which int) {
	if uint(which) < Timers {
		c.stopTimer(which)
	}
}

func (c *Conn) stopTimer(which int) { c.entry.armed &^= 1 << which }

func (c *Conn) nextDeadline() (at uint64, ok bool) {
	for i := range allTimers {
		if d, set := c.deadline(i); set && (!ok || d < at) {
			at, ok = d, true
		}
	}
	return at, ok
}

func (c *Conn) expire(now uint64) {
	for i := range allTimers {
		if c.is(dead) {
			c.entry.armed = 0
		}
		if at, ok := c.deadline(i); !ok || at > now {
			continue
		}
		c.stopTimer(i)
		if i == internalTimer {
			c.expired()
		} else {
			c.handler.Timer(c, i)
		}
	}
}

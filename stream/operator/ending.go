package operator

import "math"

// ending calls last once, when no value follows. Behind EventTime that is a timer at the end of time, not the end of the stream: the operators
// behind do not see yet that time has passed, so what last passes on is not late for them. That it was called is state: a run that goes
// on behind an early end does not call it again, unless further values come.
type ending struct {
	last   func()
	timer  timer
	run    *Running
	up     upstream
	cell   *cell
	called bool
}

func newEnding(s *scope) *ending {
	e := &ending{run: s.run}
	e.cell, _ = newCell(s, "end", &e.called, func() (bool, bool) { return e.called, e.called })
	e.timer.fire = func(int64) { e.end() }
	return e
}

// watch waits for the end of an operator's upstream, and returns the upstream of its output.
func (e *ending) watch(s *scope, up upstream) upstream {
	e.up = up
	if up.line != s.run.wall && !s.template {
		up.schedule(&e.timer, math.MaxInt64)
	}
	return up.behind()
}

// value notes that a value has come.
func (e *ending) value() {
	if e.called {
		e.called = false
		e.cell.touch()
	}
}

func (e *ending) end() {
	if !e.called {
		e.called = true
		e.cell.touch()
		e.up.cancel(&e.timer)
		e.last()
	}
}

// ends returns the end of an operator, which calls last before the end of the operator behind.
func (e *ending) ends(behind func()) func() {
	return func() {
		e.end()
		behind()
	}
}

// timeOf returns the time of what follows a value of the time last, or of none.
func (e *ending) timeOf(last int64) int64 {
	if last == math.MinInt64 {
		return e.run.wall.now
	}
	return last
}

// DefaultIfEmpty passes on v when in ends without a value.
func DefaultIfEmpty[T any](in Stream[T], v T) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) upstream {
		began := false
		c, _ := newCell(s, "default", &began, func() (bool, bool) { return began, began })
		begin := func() {
			if !began {
				began = true
				c.touch()
			}
		}
		e := newEnding(s)
		e.last = func() {
			if !began {
				to.next(v, e.timeOf(math.MinInt64))
			}
		}
		return e.watch(s, in.connect(s, output[T]{
			next: func(v T, at int64) {
				begin()
				to.next(v, at)
			},
			all: func(b *batch[T]) {
				begin()
				to.all(b)
			},
			takes: to.takes,
			end:   e.ends(to.end),
		}))
	}}
}

// StartWith passes on some values before those of in: when the run begins, or behind EventTime before the first value of in, with its time. A run
// that goes on from a stored state does not repeat them.
func StartWith[T any](in Stream[T], values ...T) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) upstream {
		began := false
		c, _ := newCell(s, "start", &began, func() (bool, bool) { return began, began })
		begin := func(at int64) {
			if began {
				return
			}
			began = true
			c.touch()
			for _, v := range values {
				to.next(v, at)
			}
		}
		e := newEnding(s)
		e.last = func() { begin(e.timeOf(math.MinInt64)) }
		up := e.watch(s, in.connect(s, output[T]{
			next: func(v T, at int64) {
				begin(at)
				to.next(v, at)
			},
			all: func(b *batch[T]) {
				begin(b.at[b.chosen[0]])
				to.all(b)
			},
			takes: to.takesEmitting,
			end:   e.ends(to.end),
		}))
		if up.line == s.run.wall {
			s.begin(func() { begin(up.now()) })
		}
		return up
	}}
}

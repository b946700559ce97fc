package operator

import (
	"cmp"
	"math"
	"slices"
)

// Window emits the aggregate of each window of in. A window by time emits when its end has passed on the clock of in, with the last
// nanosecond before its end as the time. Windows without values emit nothing. When in ends, the open windows emit.
//
// A value that is behind the windows it belongs to is late: it is dropped and counted, see Windows.Late. Open windows are state.
func Window[T, A, R any](in Stream[T], w Windows, a Aggregate[T, A, R]) Stream[Windowed[R]] {
	return Stream[Windowed[R]]{func(s *scope, to output[Windowed[R]]) clock {
		err := w.check()
		check(err == nil, func() error { return err })
		if w.kind == byCount {
			return attachCounted(in, w, a, s, to)
		}
		return attachTimed(in, w, a, s, to)
	}}
}

// span is an open window by time or session.
type span[A any] struct {
	Start, End int64
	Count      int
	Acc        A
	Emitted    bool // the window is kept for late values
}

// timed are the open windows of one operator.
type timed[T, A, R any] struct {
	Windows
	Aggregate[T, A, R]
	run   *Running
	to    output[Windowed[R]]
	clock clock
	timer timer // of the next end
	cell  *cell
	open  []*span[A] // sorted by Start
	free  []*span[A]
	last  *span[A] // the only window that a value between its bounds belongs to; &none if there is none
	none  span[A]
}

func attachTimed[T, A, R any](in Stream[T], w Windows, a Aggregate[T, A, R], s *scope, to output[Windowed[R]]) clock {
	o := &timed[T, A, R]{Windows: w, Aggregate: a, run: s.run, to: to}
	o.maxOpen = cmp.Or(o.maxOpen, defaultMaxOpen)
	o.maxValues = cmp.Or(o.maxValues, math.MaxInt)
	o.timer.fire = o.fire
	restored := false
	o.cell, restored = newCell(s, "window", &o.open, func() ([]*span[A], bool) { return o.open, len(o.open) > 0 })
	o.last = &o.none
	add := a.Add
	o.clock = in.connect(s, output[T]{
		next: func(v T, at int64) {
			if l := o.last; at >= l.Start && at < l.End {
				add(&l.Acc, v)
				l.Count++
				o.cell.touch()
				return
			}
			o.place(v, at)
		},
		end: o.end,
	})
	if restored {
		o.schedule()
	}
	return o.clock.behind()
}

// place adds a value to all its windows.
func (o *timed[T, A, R]) place(v T, at int64) {
	o.last = &o.none
	taken := false
	if o.kind == bySession {
		taken = o.add(o.session(at), v)
	} else {
		first := at - floorMod(at, int64(o.step)) // start of the last window that has the value
		for start := first; start > at-int64(o.size); start -= int64(o.step) {
			if o.add(o.window(start), v) {
				taken = true
			}
		}
	}
	if taken {
		o.schedule()
		o.cell.touch()
	}
}

// add adds a value to a window and reports whether there is one.
func (o *timed[T, A, R]) add(s *span[A], v T) bool {
	if s == nil {
		return false
	}
	if s.Count >= o.maxValues {
		o.run.drop("MaxValues of windows", o.maxValues)
		return true
	}
	o.Add(&s.Acc, v)
	s.Count++
	switch {
	case s.Emitted:
		o.emit(s, true)
	case o.kind == byTime && o.size == o.step && o.maxValues == math.MaxInt:
		o.last = s
	}
	return true
}

// window returns the window with a start. It returns nil if the value is too late for it, or there are too many.
func (o *timed[T, A, R]) window(start int64) *span[A] {
	i, ok := slices.BinarySearchFunc(o.open, start, func(s *span[A], start int64) int { return cmp.Compare(s.Start, start) })
	if ok {
		return o.open[i]
	}
	return o.insert(i, start, later(start, o.size))
}

// insert makes a window, unless it would be closed already or there are too many.
func (o *timed[T, A, R]) insert(i int, start, end int64) *span[A] {
	if now := o.clock.now(); later(end, o.lateness) <= now {
		o.run.late(start)
		return nil
	}
	if len(o.open) >= o.maxOpen {
		o.run.drop("MaxOpen of windows", o.maxOpen)
		return nil
	}
	s := new(span[A])
	if n := len(o.free); n > 0 {
		s, o.free = o.free[n-1], o.free[:n-1]
	}
	*s = span[A]{Start: start, End: end, Acc: o.New()}
	o.open = slices.Insert(o.open, i, s)
	return s
}

// session returns the session that a value belongs to. It merges those that the value connects.
func (o *timed[T, A, R]) session(at int64) *span[A] {
	end := later(at, o.size)
	i := slices.IndexFunc(o.open, func(s *span[A]) bool { return at < s.End })
	if i < 0 {
		i = len(o.open)
	}
	if i == len(o.open) || o.open[i].Start >= end {
		return o.insert(i, at, end)
	}
	s := o.open[i]
	s.Start, s.End = min(s.Start, at), max(s.End, end)
	for i+1 < len(o.open) && o.open[i+1].Start < s.End {
		next := o.open[i+1]
		o.Merge(&s.Acc, next.Acc)
		s.Count += next.Count
		s.End = max(s.End, next.End)
		s.Emitted = s.Emitted || next.Emitted
		o.open = slices.Delete(o.open, i+1, i+2)
	}
	return s
}

// schedule sets the timer to the next end of a window, or of the time in which it takes late values.
func (o *timed[T, A, R]) schedule() {
	due := int64(math.MaxInt64)
	for _, s := range o.open {
		due = min(due, o.due(s))
	}
	if len(o.open) > 0 && (o.timer.place == 0 || o.timer.at != due) {
		o.clock.schedule(&o.timer, due)
	}
}

func (o *timed[T, A, R]) due(s *span[A]) int64 {
	if s.Emitted {
		return later(s.End, o.lateness)
	}
	return s.End
}

// fire emits the windows that have ended, and removes those that take no late values any more.
func (o *timed[T, A, R]) fire(now int64) {
	o.last = &o.none
	for _, s := range o.open {
		if s.End <= now && !s.Emitted {
			o.emit(s, false)
			s.Emitted = true
		}
	}
	kept := o.open[:0]
	for _, s := range o.open {
		if s.Emitted && o.due(s) <= now {
			o.release(s)
		} else {
			kept = append(kept, s)
		}
	}
	clear(o.open[len(kept):])
	o.open = kept
	o.schedule()
	o.cell.touch()
}

// release keeps the memory of a window for the next ones.
func (o *timed[T, A, R]) release(s *span[A]) {
	const spare = 4
	if *s = (span[A]{}); len(o.free) < spare {
		o.free = append(o.free, s)
	}
}

func (o *timed[T, A, R]) emit(s *span[A], again bool) {
	o.to.next(Windowed[R]{s.Start, s.End, s.Count, o.Result(&s.Acc), again}, s.End-1)
}

// end emits the open windows.
func (o *timed[T, A, R]) end() {
	for _, s := range o.open {
		if !s.Emitted {
			o.emit(s, false)
		}
	}
	o.clock.cancel(&o.timer)
	o.open, o.last = nil, &o.none
	o.cell.touch()
	o.to.end()
}

// floorMod returns x modulo y, which is never negative.
func floorMod(x, y int64) int64 {
	m := x % y
	if m < 0 {
		m += y
	}
	return m
}

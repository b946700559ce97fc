package operator

import (
	"cmp"
	"math"

	"example.com/ferry/stream/internal/window"
)

// Window emits the aggregate of each window of in. A window by time emits when its end has passed on the clock of in, with the last
// nanosecond before its end as the time. Windows without values emit nothing. When in ends, the open windows emit.
//
// A value that is behind the windows it belongs to is late: it is dropped and counted, see Windows.Late. Open windows are state.
func Window[T, A, R any](in Stream[T], w Windows, a Aggregate[T, A, R]) Stream[Windowed[R]] {
	return Stream[Windowed[R]]{func(s *scope, to output[Windowed[R]]) upstream {
		err := w.check()
		check(err == nil, func() error { return err })
		if w.kind == byCount {
			return attachCounted(in, w, a, s, to)
		}
		return attachTimed(in, w, a, s, to)
	}}
}

// timed are the open windows of one operator.
type timed[T, A, R any] struct {
	Windows
	Aggregate[T, A, R]
	open  window.Windows[A]
	run   *Running
	to    output[Windowed[R]]
	up    upstream
	timer timer // of the next end
	cell  *cell
	last  *window.Window[A] // the only window that a value between its bounds belongs to; &none if there is none
	none  window.Window[A]
}

func attachTimed[T, A, R any](in Stream[T], w Windows, a Aggregate[T, A, R], s *scope, to output[Windowed[R]]) upstream {
	o := &timed[T, A, R]{Windows: w, Aggregate: a, run: s.run, to: to}
	o.maxValues = cmp.Or(o.maxValues, math.MaxInt)
	o.open = window.Windows[A]{New: a.New, Refused: o.refuse, Config: window.Config{Late: w.lateness, MaxOpen: cmp.Or(w.maxOpen, defaultMaxOpen)}}
	takes := takesQuietly
	if w.kind == bySession {
		o.open.Merge = func(into, from *A) { o.Merge(into, *from) }
		o.open.Session, takes = w.size, nil
	} else {
		o.open.Time, o.open.Every = w.size, w.step
	}
	o.timer.fire = o.fire
	var open []*window.Window[A]
	restored := false
	o.cell, restored = newCell(s, "window", &open, func() ([]*window.Window[A], bool) {
		open, _, _ := o.open.Open()
		return open, len(open) > 0
	})
	o.last = &o.none
	add := a.Add
	o.up = in.connect(s, output[T]{
		next: func(v T, at int64) {
			if l := o.last; at >= l.Start && at < l.End {
				add(&l.Acc, v)
				l.Count++
				o.cell.touch()
				return
			}
			o.place(v, at)
		},
		all:   o.placeAll,
		takes: takes,
		end:   o.end,
	})
	if w.kind == byTime {
		o.up.line.endsAt(step{int64(w.size), int64(w.step)})
	}
	if restored {
		o.open.Restore(open, 0, false)
		o.schedule()
	}
	return o.up.behind()
}

// place adds a value to all its windows.
func (o *timed[T, A, R]) place(v T, at int64) {
	o.last = &o.none
	o.open.Pass(o.up.now())
	all := o.open.Add(at)
	for _, w := range all {
		if w.Count > o.maxValues {
			w.Count = o.maxValues
			o.run.drop("MaxValues of windows", o.maxValues)
			continue
		}
		o.Add(&w.Acc, v)
		switch {
		case w.Emitted:
			o.emit(w, true)
		case o.kind == byTime && o.size == o.step && o.maxValues == math.MaxInt:
			o.last = w
		}
	}
	if len(all) > 0 {
		o.schedule()
		o.cell.touch()
	}
}

// placeAll adds the values of a batch to their windows.
func (o *timed[T, A, R]) placeAll(b *batch[T]) {
	for rest := b.chosen; len(rest) > 0; {
		l, n := o.last, 0
		for n < len(rest) && b.at[rest[n]] >= l.Start && b.at[rest[n]] < l.End {
			n++
		}
		if n == 0 {
			o.place(b.values[rest[0]], b.at[rest[0]])
			rest = rest[1:]
			continue
		}
		o.addChosen(&l.Acc, b.values, rest[:n])
		l.Count += n
		rest = rest[n:]
	}
	o.cell.touch()
}

// refuse counts a value that is in no window.
func (o *timed[T, A, R]) refuse(start int64, late bool) {
	if late {
		o.run.late(start)
		return
	}
	o.run.drop("MaxOpen of windows", o.open.MaxOpen)
}

// schedule sets the timer to the next end of a window, or of the time in which it takes late values.
func (o *timed[T, A, R]) schedule() {
	if due := o.open.Due(); o.open.Len() > 0 && (o.timer.place == 0 || o.timer.at != due) {
		o.up.schedule(&o.timer, due)
	}
}

// fire emits the windows that have ended.
func (o *timed[T, A, R]) fire(now int64) {
	o.last = &o.none
	for w := o.open.Pop(now); w != nil; w = o.open.Pop(now) {
		o.emit(w, false)
	}
	o.schedule()
	o.cell.touch()
}

func (o *timed[T, A, R]) emit(w *window.Window[A], again bool) {
	o.to.next(Windowed[R]{w.Start, w.End, w.Count, o.Result(&w.Acc), again}, w.End-1)
}

// end emits the open windows.
func (o *timed[T, A, R]) end() {
	o.last = &o.none
	for w := o.open.Flush(); w != nil; w = o.open.Flush() {
		if !w.Emitted {
			o.emit(w, false)
		}
	}
	o.up.cancel(&o.timer)
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

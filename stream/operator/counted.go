package operator

import (
	"math"
	"slices"

	"example.com/ferry/stream/internal/window"
)

// counted are the open windows of an operator that counts values. They are sorted by their starts, so the first is full first.
type counted[T, A, R any] struct {
	Windows
	Aggregate[T, A, R]
	to    output[Windowed[R]]
	up    upstream
	timer timer // of windows that end by time, too, and do not overlap
	cell  *cell
	state countedState[A]
	ends  *ending
	run   *Running
}

// countedState is the state of a counted.
type countedState[A any] struct {
	Open []window.Window[A]
	Next int // values before the next window begins
}

func attachCounted[T, A, R any](in Stream[T], w Windows, a Aggregate[T, A, R], s *scope, to output[Windowed[R]]) upstream {
	o := &counted[T, A, R]{Windows: w, Aggregate: a, to: to, run: s.run}
	o.timer.fire = func(at int64) {
		o.state.Open[0].End = at
		o.state.Next = 0 // the next value begins the next window
		o.emit(at)
	}
	takes := takesWhileEmitting
	if o.size > 0 {
		takes = nil
	}
	restored := false
	o.cell, restored = newCell(s, "window", &o.state, func() (countedState[A], bool) { return o.state, len(o.state.Open) > 0 || o.state.Next > 0 })
	o.ends = newEnding(s)
	o.ends.last = func() {
		for len(o.state.Open) > 0 {
			o.emit(o.state.Open[0].End - 1)
		}
		o.state.Next = 0
	}
	o.up = in.connect(s, output[T]{
		next: func(v T, at int64) {
			if o.state.Next == 0 {
				o.begin(at)
			}
			for i := range o.state.Open {
				w := &o.state.Open[i]
				o.Add(&w.Acc, v)
				w.Count++
				w.Start, w.End = min(w.Start, at), max(w.End, at+1)
			}
			o.passed(1, at)
		},
		all:   o.addAllOf,
		takes: takes,
		end:   o.ends.ends(to.end),
	})
	if restored && o.size > 0 && len(o.state.Open) > 0 {
		o.up.schedule(&o.timer, later(o.state.Open[0].Start, o.size))
	}
	return o.ends.watch(s, o.up)
}

// addAllOf adds the values of a batch: as many at once as belong to the same windows.
func (o *counted[T, A, R]) addAllOf(b *batch[T]) {
	for rest := b.chosen; len(rest) > 0; {
		if o.state.Next == 0 {
			o.begin(b.at[rest[0]])
		}
		n := min(len(rest), o.state.Next)
		if len(o.state.Open) > 0 {
			n = min(n, o.count-o.state.Open[0].Count)
		}
		part := rest[:n]
		rest = rest[n:]
		for i := range o.state.Open {
			w := &o.state.Open[i]
			o.addChosen(&w.Acc, b.values, part)
			w.Count += n
			for _, i := range part {
				w.Start, w.End = min(w.Start, b.at[i]), max(w.End, b.at[i]+1)
			}
		}
		o.run.given = b.given[part[n-1]]
		o.passed(n, b.at[part[n-1]])
	}
	o.run.given = o.run.wall.now
}

// begin begins a window with a value of a time.
func (o *counted[T, A, R]) begin(at int64) {
	o.ends.value()
	o.state.Next = o.every
	o.state.Open = append(o.state.Open, window.Window[A]{Start: at, End: math.MinInt64, Acc: o.New()})
	if o.size > 0 {
		o.up.schedule(&o.timer, max(later(at, o.size), o.up.now()))
	}
}

// passed notes n values, and emits the window that is full then.
func (o *counted[T, A, R]) passed(n int, at int64) {
	o.state.Next -= n
	o.cell.touch()
	if len(o.state.Open) > 0 && o.state.Open[0].Count >= o.count {
		o.emit(at)
	}
}

// emit emits the first window.
func (o *counted[T, A, R]) emit(at int64) {
	w := o.state.Open[0]
	o.up.cancel(&o.timer)
	o.state.Open = slices.Delete(o.state.Open, 0, 1)
	o.cell.touch()
	o.to.next(Windowed[R]{Start: w.Start, End: w.End, Count: w.Count, Value: o.Result(&w.Acc)}, at)
}

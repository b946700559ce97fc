package operator

import (
	"math"

	"example.com/ferry/stream/internal/window"
)

// counted is the open window of an operator that counts values.
type counted[T, A, R any] struct {
	Windows
	Aggregate[T, A, R]
	to    output[Windowed[R]]
	clock clock
	timer timer // of windows that end by time, too
	cell  *cell
	span  window.Window[A]
}

func attachCounted[T, A, R any](in Stream[T], w Windows, a Aggregate[T, A, R], s *scope, to output[Windowed[R]]) clock {
	o := &counted[T, A, R]{Windows: w, Aggregate: a, to: to}
	o.timer.fire = func(at int64) {
		o.span.End = at
		o.emit(at)
	}
	takes := takesWhileEmitting
	if o.size > 0 {
		takes = nil
	}
	restored := false
	o.cell, restored = newCell(s, "window", &o.span, func() (window.Window[A], bool) { return o.span, o.span.Count > 0 })
	o.clock = in.connect(s, output[T]{
		next: func(v T, at int64) {
			w := &o.span
			if w.Count == 0 {
				o.open(at)
			}
			o.Add(&w.Acc, v)
			w.Count++
			w.Start, w.End = min(w.Start, at), max(w.End, at+1)
			o.cell.touch()
			if w.Count >= o.count {
				o.emit(at)
			}
		},
		all:   o.addAllOf,
		takes: takes,
		end: func() {
			if o.span.Count > 0 {
				o.emit(o.span.End - 1)
			}
			to.end()
		},
	})
	if restored && o.size > 0 {
		o.clock.schedule(&o.timer, later(o.span.Start, o.size))
	}
	return o.clock.behind()
}

// addAllOf adds the values of a batch.
func (o *counted[T, A, R]) addAllOf(b *batch[T]) {
	w := &o.span
	for rest := b.chosen; len(rest) > 0; {
		if w.Count == 0 {
			o.open(b.at[rest[0]])
		}
		part := rest[:min(len(rest), o.count-w.Count)]
		rest = rest[len(part):]
		o.addChosen(&w.Acc, b.values, part)
		w.Count += len(part)
		for _, i := range part {
			w.Start, w.End = min(w.Start, b.at[i]), max(w.End, b.at[i]+1)
		}
		if w.Count >= o.count {
			o.emit(b.at[part[len(part)-1]])
		}
	}
	o.cell.touch()
}

func (o *counted[T, A, R]) open(at int64) {
	o.span = window.Window[A]{Start: at, End: math.MinInt64, Acc: o.New()}
	if o.size > 0 {
		o.clock.schedule(&o.timer, max(later(at, o.size), o.clock.now()))
	}
}

func (o *counted[T, A, R]) emit(at int64) {
	w := o.span
	o.clock.cancel(&o.timer)
	o.span = window.Window[A]{}
	o.cell.touch()
	o.to.next(Windowed[R]{Start: w.Start, End: w.End, Count: w.Count, Value: o.Result(&w.Acc)}, at)
}

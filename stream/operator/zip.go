package operator

import (
	"fmt"
	"slices"
)

// Zip passes on f of the first values of both streams, of their second values, and so on, with the later one's time. It ends when a stream
// has ended whose values are all used. If 65536 values of one stream wait for the other one, the run ends with an error. The values that
// wait are state.
func Zip[A, B, R any](a Stream[A], b Stream[B], f func(A, B) R) Stream[R] {
	either := []Stream[zipSide[A, B]]{
		Map(a, func(v A) zipSide[A, B] { return zipSide[A, B]{A: v} }),
		Map(b, func(v B) zipSide[A, B] { return zipSide[A, B]{B: v} }),
	}
	return zipAll(either, func(row []zipSide[A, B]) R { return f(row[0].A, row[1].B) })
}

// zipSide is a value of one of the streams of Zip.
type zipSide[A, B any] struct {
	A A
	B B
}

// ZipAll is Zip for any number of streams of one type. It passes on the first values of all streams, in the order of the streams, and so on.
func ZipAll[T any](in ...Stream[T]) Stream[[]T] { return zipAll(in, slices.Clone[[]T]) }

func zipAll[T, R any](in []Stream[T], f func(row []T) R) Stream[R] {
	return Stream[R]{func(s *scope, to output[R]) upstream {
		n := len(in)
		check(n > 0, func() error { return fmt.Errorf("zip of no streams: want at least one") })
		o := &zipped[T, R]{f: f, to: to, waits: make([]queue[Timed[T]], n), row: make([]T, n), ended: make([]bool, n)}
		saved := make([][]Timed[T], n)
		o.cell, _ = newCell(s, "zip", &saved, func() ([][]Timed[T], bool) {
			some := false
			for i := range o.waits {
				saved[i] = o.waits[i].list()
				some = some || len(saved[i]) > 0
			}
			return saved, some
		})
		check(len(saved) == n, func() error { return fmt.Errorf("the stored state of zip has %d streams, want %d", len(saved), n) })
		var ups []upstream
		for i, each := range in {
			o.waits[i].all = saved[i]
			ups = append(ups, each.connect(s, output[T]{
				next: func(v T, at int64) { o.add(i, Timed[T]{v, at}) },
				end: func() {
					o.ended[i] = true
					o.end()
				},
			}))
		}
		o.up = earliest(ups)
		return o.up
	}}
}

// zipped has the values of each stream that wait for those of others.
type zipped[T, R any] struct {
	f     func([]T) R
	to    output[R]
	up    upstream
	cell  *cell
	waits []queue[Timed[T]]
	row   []T
	ended []bool // for each stream
	done  bool
}

// add adds a value of a stream, and passes on a row that is then complete.
func (o *zipped[T, R]) add(i int, v Timed[T]) {
	if o.done {
		return
	}
	o.cell.touch()
	o.waits[i].push(v)
	check(o.waits[i].len() <= maxKept, func() error { return fmt.Errorf("zip: more than %d values of one stream wait for the other", maxKept) })
	for i := range o.waits {
		if o.waits[i].len() == 0 {
			return
		}
	}
	at := v.At
	for i := range o.waits {
		first := o.waits[i].pop()
		o.row[i], at = first.Value, max(at, first.At)
	}
	o.to.next(o.f(o.row), at)
	clear(o.row)
	o.end()
}

// end ends the stream if no further row can come.
func (o *zipped[T, R]) end() {
	for i := range o.waits {
		if !o.done && o.ended[i] && o.waits[i].len() == 0 {
			o.done = true
			o.to.end()
			o.up.stop()
		}
	}
}

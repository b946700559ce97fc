package operator

import "time"

// Timed is a value with its time, in Unix nanoseconds.
type Timed[V any] struct {
	Value V
	At    int64
}

// Timestamp passes on each value with its time.
func Timestamp[T any](in Stream[T]) Stream[Timed[T]] {
	return Stream[Timed[T]]{func(s *scope, to output[Timed[T]]) upstream {
		return singly(s, in, func(v T, at int64) { to.next(Timed[T]{v, at}, at) }, to.end)
	}}
}

// Interval is a value with the time since the value before it; zero for the first one.
type Interval[V any] struct {
	Value V
	Since time.Duration
}

// TimeInterval passes on each value with the time since the value before it, by the times of the values. The time of the last one is state.
func TimeInterval[T any](in Stream[T]) Stream[Interval[T]] {
	return Stream[Interval[T]]{func(s *scope, to output[Interval[T]]) upstream {
		var last Optional[int64]
		c, _ := newCell(s, "interval", &last, func() (Optional[int64], bool) { return last, last.Set })
		return singly(s, in, func(v T, at int64) {
			since := time.Duration(0)
			if last.Set {
				since = time.Duration(at - last.Value)
			}
			last = Optional[int64]{at, true}
			c.touch()
			to.next(Interval[T]{v, since}, at)
		}, to.end)
	}}
}

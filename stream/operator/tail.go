package operator

import (
	"fmt"
	"math"
)

// maxKept is the most values that TakeLast, SkipLast, and a stream of Zip keep.
const maxKept = 1 << 16

// TakeLast passes on the last n values, at most 65536, when in ends. Their time is that of the last one. They are state.
func TakeLast[T any](in Stream[T], n int) Stream[T] { return tail(in, "take-last", n, false) }

// LastValue passes on the last value, when in ends.
func LastValue[T any](in Stream[T]) Stream[T] { return TakeLast(in, 1) }

// SkipLast passes on all values but the last n, at most 65536: each one when n others have come, with the time of the last of them. The values
// that wait are state.
func SkipLast[T any](in Stream[T], n int) Stream[T] { return tail(in, "skip-last", n, true) }

// tail keeps the last n values, and passes on those that leave, or those that are left in the end.
func tail[T any](in Stream[T], kind string, n int, leaving bool) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) upstream {
		check(n >= 0 && n <= maxKept, func() error {
			return fmt.Errorf("%s with %d values: want at most %d, and not less than 0", kind, n, maxKept)
		})
		var kept queue[T]
		last := int64(math.MinInt64)
		c, _ := newCell(s, kind, &kept.all, func() ([]T, bool) { return kept.list(), kept.len() > 0 })
		e := newEnding(s)
		e.last = func() {
			for !leaving && kept.len() > 0 {
				to.next(kept.pop(), e.timeOf(last))
			}
		}
		return e.watch(s, singly(s, in, func(v T, at int64) {
			e.value()
			last = max(last, at)
			c.touch()
			if kept.push(v); kept.len() <= n {
				return
			}
			if first := kept.pop(); leaving {
				to.next(first, at)
			}
		}, e.ends(to.end)))
	}}
}

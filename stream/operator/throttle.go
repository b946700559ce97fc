package operator

import (
	"fmt"
	"math"
	"time"
)

// Throttle passes on a value and drops the ones that come before the time pause has passed since, by the times of the values.
func Throttle[T any](in Stream[T], pause time.Duration) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) upstream {
		check(pause > 0, func() error { return fmt.Errorf("throttle with a time of %v: want a positive one", pause) })
		until := int64(math.MinInt64)
		c, _ := newCell(s, "throttle", &until, func() (int64, bool) { return until, true })
		return singly(s, in, func(v T, at int64) {
			if at >= until {
				until = later(at, pause)
				c.touch()
				to.next(v, at)
			}
		}, to.end)
	}}
}

package operator

import (
	"fmt"
	"time"
)

// Timeout ends the run with an error that wraps ErrTimeout when no value came for the time d, on the wall clock. Within a group it counts
// from the group's first value.
func Timeout[T any](in Stream[T], d time.Duration) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) clock {
		check(d > 0, func() error { return fmt.Errorf("a timeout of %v: want a positive time", d) })
		wall, t := s.run.wallClock(), &timer{}
		last := wall.now()
		t.fire = func(at int64) {
			due := later(last, d)
			check(due > at, func() error { return fmt.Errorf("%w: none for %v", ErrTimeout, d) })
			wall.schedule(t, due)
		}
		on := in.connect(s, output[T]{
			next: func(v T, at int64) {
				last = wall.now()
				to.next(v, at)
			},
			end: func() {
				wall.cancel(t)
				to.end()
			},
		})
		if !s.template {
			wall.schedule(t, later(last, d))
		}
		return on
	}}
}

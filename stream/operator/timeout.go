package operator

import (
	"fmt"
	"math"
	"time"
)

// Timeout fails with an error that wraps ErrTimeout when no value came for the time d, on the wall clock. That ends the run, unless an
// operator such as OnErrorReturn handles it; then Timeout waits for the next value again. Within a group it counts from the group's first
// value.
func Timeout[T any](in Stream[T], d time.Duration) Stream[T] {
	return silent(in, d, func(_ output[T], fail failing, at int64) {
		fail.handle(fmt.Errorf("%w: none for %v", ErrTimeout, d), at)
	})
}

// DefaultAfter passes on v each time that no value came for the time d, on the wall clock.
func DefaultAfter[T any](in Stream[T], d time.Duration, v T) Stream[T] {
	return silent(in, d, func(to output[T], _ failing, at int64) { to.next(v, at) })
}

// silent calls missed when no value came for a time.
func silent[T any](in Stream[T], d time.Duration, missed func(to output[T], fail failing, at int64)) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) upstream {
		check(d > 0, func() error { return fmt.Errorf("a timeout of %v: want a positive time", d) })
		wall, t, fail := s.run.wallClock(), &timer{}, s.fail
		last, ended := wall.now(), false
		var up upstream
		t.fire = func(at int64) {
			if later(last, d) <= at {
				last = at
				now := up.now()
				if now == math.MinInt64 {
					now = at // no value has given a time yet
				}
				missed(to, fail, now)
			}
			wall.schedule(t, later(last, d))
		}
		up = in.connect(s, output[T]{
			next: func(v T, at int64) {
				last = wall.now()
				to.next(v, at)
			},
			end: func() {
				ended = true
				wall.cancel(t)
				to.end()
			},
		})
		s.start(func() {
			if last = wall.now(); !ended {
				wall.schedule(t, later(last, d))
			}
		})
		return up
	}}
}

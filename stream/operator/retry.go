package operator

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// Attempts says how often Retry calls a function.
type Attempts struct {
	// Max is the most calls for one value; 0 means 3.
	Max int

	// Pause is the time before the second call; it doubles with each further one, up to MaxPause. Zero means 100 ms and 5 s.
	Pause, MaxPause time.Duration
}

// Retry passes on f of each value, and calls f again when it fails. The error of the last attempt ends the run. While Retry waits, so does
// the run: its values keep their order, and its sources get no further.
func Retry[T, R any](in Stream[T], a Attempts, f func(context.Context, T) (R, error)) Stream[R] {
	return Stream[R]{func(s *scope, to output[R]) clock {
		check(a.Max >= 0 && a.Pause >= 0 && a.MaxPause >= 0, func() error { return fmt.Errorf("retry with %+v: want none negative", a) })
		limits := Attempts{cmp.Or(a.Max, 3), cmp.Or(a.Pause, 100*time.Millisecond), cmp.Or(a.MaxPause, 5*time.Second)}
		ctx := s.run.ctx
		return TryMap(in, func(v T) (result R, err error) {
			pause := min(limits.Pause, limits.MaxPause)
			for attempt := 1; ; attempt++ {
				if result, err = f(ctx, v); err == nil || ctx.Err() != nil {
					return result, err
				}
				if attempt == limits.Max {
					return result, fmt.Errorf("%d attempts: %w", attempt, err)
				}
				select {
				case <-time.After(pause):
				case <-ctx.Done():
					return result, ctx.Err()
				}
				pause = min(2*pause, limits.MaxPause)
			}
		}).connect(s, to)
	}}
}

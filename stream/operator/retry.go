package operator

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// Attempts says how often Retry calls a function, and RetrySource reads a source.
type Attempts struct {
	// Max is the most calls for one value; 0 means 3.
	Max int

	// Pause is the time before the second call; it doubles with each further one, up to MaxPause. Zero means 100 ms and 5 s.
	Pause, MaxPause time.Duration
}

// check returns an error if there can be no such attempts.
func (a Attempts) check() error {
	if a.Max < 0 || a.Pause < 0 || a.MaxPause < 0 {
		return fmt.Errorf("retry with %+v: want none negative", a)
	}
	return nil
}

// all returns the attempts, with the defaults.
func (a Attempts) all() Attempts {
	a = Attempts{cmp.Or(a.Max, 3), cmp.Or(a.Pause, 100*time.Millisecond), cmp.Or(a.MaxPause, 5*time.Second)}
	a.Pause = min(a.Pause, a.MaxPause)
	return a
}

// failed takes away a failed attempt. It returns the pause before the next one, if there is one.
func (a *Attempts) failed() (pause time.Duration, again bool) {
	a.Max--
	pause = a.Pause
	a.Pause = min(2*a.Pause, a.MaxPause)
	return pause, a.Max > 0
}

// Retry passes on f of each value, and calls f again when it fails. The error of the last attempt is handled as one of TryMap. While Retry
// waits, so does the run: its values keep their order, and its sources get no further.
func Retry[T, R any](in Stream[T], a Attempts, f func(context.Context, T) (R, error)) Stream[R] {
	return Stream[R]{func(s *scope, to output[R]) upstream {
		err := a.check()
		check(err == nil, func() error { return err })
		ctx := s.run.ctx
		return TryMap(in, func(v T) (R, error) {
			left := a.all()
			for most := left.Max; ; {
				result, err := f(ctx, v)
				if err == nil || ctx.Err() != nil {
					return result, err
				}
				pause, again := left.failed()
				if !again {
					return result, fmt.Errorf("%d attempts: %w", most, err)
				}
				select {
				case <-time.After(pause):
				case <-ctx.Done():
					return result, ctx.Err()
				}
			}
		}).connect(s, to)
	}}
}

package operator

import (
	"fmt"
	"time"
)

// Repeat reads the source of in again when it has ended, until it was read times times, or with 0 without end, after the time pause. Operators
// that keep something stand behind it, not between it and the source. A run that goes on from a stored state counts from the start.
func Repeat[T any](in Stream[T], times int, pause time.Duration) Stream[T] {
	return readAgain(in, func() error {
		if times < 0 || pause < 0 || times == 0 && pause == 0 {
			return fmt.Errorf("repeat %d times with a pause of %v: want neither negative, and a pause if it has no end", times, pause)
		}
		return nil
	}, func() repeats {
		n := 0
		return func(err error, _ time.Duration) (time.Duration, bool) {
			n++
			return pause, err == nil && (times == 0 || n < times)
		}
	})
}

// RetrySource reads the source of in again when it fails, as often in a row as a says: a source that was read for longer than MaxPause has not
// failed in a row. FromTag goes on behind its last message, FromFunc and FromSeq call their functions again. Operators that keep something
// stand behind it, not between it and the source. A panic of its function counts as a failure; the last one ends the run.
func RetrySource[T any](in Stream[T], a Attempts) Stream[T] {
	return readAgain(in, a.check, func() repeats {
		left := a.all()
		return func(err error, ran time.Duration) (time.Duration, bool) {
			if err == nil {
				return 0, false
			}
			if ran > left.MaxPause {
				left = a.all()
			}
			return left.failed()
		}
	})
}

// readAgain makes the sources of a stream read again.
func readAgain[T any](in Stream[T], mistake func() error, again newRepeats) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) upstream {
		err := mistake()
		check(err == nil, func() error { return err })
		check(s.again == nil, func() error { return fmt.Errorf("Repeat or RetrySource of a stream that repeats: use one of them") })
		s.again = again
		u := in.connect(s, to)
		s.again = nil
		return u
	}}
}

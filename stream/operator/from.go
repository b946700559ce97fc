package operator

import "iter"

// FromSlice has the values of a slice, and ends. It must not change before.
func FromSlice[T any](values []T) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) clock {
		r := s.run
		r.source(func(enter func(func()) error) error {
			var times []int64
			if to.takesBatches() {
				times = make([]int64, min(len(values), batchSize))
			}
			for rest := values; len(rest) > 0; {
				turn := rest[:min(len(rest), batchSize)] // then timers and other sources get a turn
				rest = rest[len(turn):]
				err := enter(func() {
					at := r.wall.now
					if times != nil {
						fill(times, at)
						to.all(&batch[T]{turn, times[:len(turn)], times[:len(turn)], allIndices[:len(turn)]})
						return
					}
					for i := range turn {
						to.next(turn[i], at)
					}
				})
				if err != nil {
					return err
				}
			}
			return nil
		}, to.end)
		return r.wallClock()
	}}
}

// FromSeq has the values of an iterator, and ends with it. A goroutine of the run calls it, and it may block. When the run has ended, it
// is not called again.
func FromSeq[T any](values iter.Seq[T]) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) clock {
		r := s.run
		r.source(func(enter func(func()) error) (err error) {
			for v := range values {
				if err = enter(func() { to.next(v, r.wall.now) }); err != nil {
					break
				}
			}
			return err
		}, to.end)
		return r.wallClock()
	}}
}

// FromChan has the values that a channel delivers until it is closed.
func FromChan[T any](values <-chan T) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) clock {
		r := s.run
		r.source(func(enter func(func()) error) error {
			for {
				select {
				case v, ok := <-values:
					if !ok {
						return nil
					}
					if err := enter(func() { to.next(v, r.wall.now) }); err != nil {
						return err
					}
				case <-r.ctx.Done():
					return ErrStopped
				}
			}
		}, to.end)
		return r.wallClock()
	}}
}

package operator

import (
	"context"
	"iter"
)

// FromSlice has the values of a slice, and ends. It must not change before.
func FromSlice[T any](values []T) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) upstream {
		r := s.run
		return s.newSource(to.end, func(src *source) error {
			var times []int64
			if to.takesBatches() {
				times = make([]int64, min(len(values), batchSize))
			}
			for rest := values; len(rest) > 0; {
				turn := rest[:min(len(rest), batchSize)] // then timers and other sources get a turn
				rest = rest[len(turn):]
				err := r.enter(src, func() {
					at := r.wall.now
					if times != nil {
						fill(times, at)
						to.all(&batch[T]{turn, times[:len(turn)], times[:len(turn)], allIndices[:len(turn)]})
						return
					}
					for i := 0; i < len(turn) && !src.ended; i++ {
						to.next(turn[i], at)
					}
				})
				if err != nil {
					return err
				}
			}
			return nil
		}).upstream()
	}}
}

// FromFunc has the values that a function passes to emit. A goroutine of the run calls it. The stream ends when it returns, with its error if it
// returns one. It returns soon after emit has returned an error or ctx has ended: no further values are taken then.
func FromFunc[T any](read func(ctx context.Context, emit func(T) error) error) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) upstream {
		r := s.run
		return s.newSource(to.end, func(src *source) error {
			return read(src.ctx, func(v T) error {
				return r.enter(src, func() { to.next(v, r.wall.now) })
			})
		}).upstream()
	}}
}

// FromSeq has the values of an iterator, and ends with it. A goroutine of the run calls it, and it may block. When no further values are taken,
// it is not called again.
func FromSeq[T any](values iter.Seq[T]) Stream[T] {
	return FromFunc(func(_ context.Context, emit func(T) error) error {
		for v := range values {
			if err := emit(v); err != nil {
				return err
			}
		}
		return nil
	})
}

// FromChan has the values that a channel delivers until it is closed.
func FromChan[T any](values <-chan T) Stream[T] {
	return FromFunc(func(ctx context.Context, emit func(T) error) error {
		for {
			select {
			case v, ok := <-values:
				if !ok {
					return nil
				}
				if err := emit(v); err != nil {
					return err
				}
			case <-ctx.Done():
				return nil
			}
		}
	})
}

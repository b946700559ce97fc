package operator

// Map passes on f of each value.
func Map[T, R any](in Stream[T], f func(T) R) Stream[R] {
	return mapped(in, func(next func(R, int64)) (func(T, int64), func([]R, *batch[T])) {
		return func(v T, at int64) { next(f(v), at) }, func(into []R, b *batch[T]) {
			for _, i := range b.chosen {
				into[i] = f(b.values[i])
			}
		}
	})
}

// withTime passes on f of each value and its time.
func withTime[T, R any](in Stream[T], f func(v T, at int64) R) Stream[R] {
	return mapped(in, func(next func(R, int64)) (func(T, int64), func([]R, *batch[T])) {
		return func(v T, at int64) { next(f(v, at), at) }, func(into []R, b *batch[T]) {
			for _, i := range b.chosen {
				into[i] = f(b.values[i], b.at[i])
			}
		}
	})
}

// mapped passes on a result for each value. of returns a function that passes on the result of one, and one that writes those of a batch.
func mapped[T, R any](in Stream[T], of func(next func(R, int64)) (one func(T, int64), all func([]R, *batch[T]))) Stream[R] {
	return Stream[R]{func(s *scope, to output[R]) upstream {
		one, all := of(to.next)
		results := &batch[R]{}
		takes := to.takes
		if s.path != "" {
			takes = nil // groups are many: none has a buffer of its own
		}
		return in.connect(s, output[T]{
			next:  one,
			end:   to.end,
			takes: takes,
			all: func(b *batch[T]) {
				if results.values == nil {
					results.values = make([]R, batchSize)
				}
				all(results.values, b)
				results.at, results.given, results.chosen = b.at, b.given, b.chosen
				to.all(results)
				clear(results.values) // nothing of the values stays reachable
			},
		})
	}}
}

// TryMap is Map with a function that may fail. Its error ends the run, unless an operator such as OnErrorReturn handles it.
func TryMap[T, R any](in Stream[T], f func(T) (R, error)) Stream[R] {
	return Stream[R]{func(s *scope, to output[R]) upstream {
		next, fail := to.next, s.fail
		return in.connect(s, output[T]{
			next: func(v T, at int64) {
				result, err := f(v)
				if err != nil {
					fail.handle(err, at)
					return
				}
				next(result, at)
			},
			end: to.end, // no batches: a failure must not stop the values before it
		})
	}}
}

package operator

// Map passes on f of each value.
func Map[T, R any](in Stream[T], f func(T) R) Stream[R] {
	return Stream[R]{func(s *scope, to output[R]) clock {
		next := to.next
		mapped := &batch[R]{}
		takes := to.takes
		if s.path != "" {
			takes = nil // groups are many: none has a buffer of its own
		}
		return in.connect(s, output[T]{
			next:  func(v T, at int64) { next(f(v), at) },
			end:   to.end,
			takes: takes,
			all: func(b *batch[T]) {
				if mapped.values == nil {
					mapped.values = make([]R, batchSize)
				}
				for _, i := range b.chosen {
					mapped.values[i] = f(b.values[i])
				}
				mapped.at, mapped.given, mapped.chosen = b.at, b.given, b.chosen
				to.all(mapped)
				clear(mapped.values) // nothing of the values stays reachable
			},
		})
	}}
}

// TryMap is Map with a function that may fail. Its error ends the run.
func TryMap[T, R any](in Stream[T], f func(T) (R, error)) Stream[R] {
	return Stream[R]{func(s *scope, to output[R]) clock {
		next := to.next
		return in.connect(s, output[T]{
			next: func(v T, at int64) {
				result, err := f(v)
				if err != nil {
					panic(failure{err})
				}
				next(result, at)
			},
			end: to.end, // no batches: a failure must not stop the values before it
		})
	}}
}

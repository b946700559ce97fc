package operator

// Map passes on f of each value.
func Map[T, R any](in Stream[T], f func(T) R) Stream[R] {
	return Stream[R]{func(s *scope, to output[R]) upstream {
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

// TryMap is Map with a function that may fail. Its error ends the run, unless an operator such as OnErrorReturn handles it.
func TryMap[T, R any](in Stream[T], f func(T) (R, error)) Stream[R] {
	return Stream[R]{func(s *scope, to output[R]) upstream {
		next, fail := to.next, s.fail
		return singly(s, in, func(v T, at int64) {
			result, err := f(v)
			if err != nil {
				fail.handle(err, at)
				return
			}
			next(result, at)
		}, to.end)
	}}
}

package operator

// Map passes on f of each value.
func Map[T, R any](in Stream[T], f func(T) R) Stream[R] {
	return Stream[R]{func(s *scope, to output[R]) clock {
		next := to.next
		return in.connect(s, output[T]{func(v T, at int64) { next(f(v), at) }, to.end})
	}}
}

// TryMap is Map with a function that may fail. Its error ends the run.
func TryMap[T, R any](in Stream[T], f func(T) (R, error)) Stream[R] {
	return Map(in, func(v T) R {
		result, err := f(v)
		if err != nil {
			panic(failure{err})
		}
		return result
	})
}

package operator

// Filter passes on the values for which keep returns true.
func Filter[T any](in Stream[T], keep func(T) bool) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) clock {
		next := to.next
		return in.connect(s, output[T]{
			next: func(v T, at int64) {
				if keep(v) {
					next(v, at)
				}
			},
			end: to.end,
		})
	}}
}

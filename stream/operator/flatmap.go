package operator

// FlatMap calls f with each value. f passes on any number of values by calls of emit, before it returns.
func FlatMap[T, R any](in Stream[T], f func(v T, emit func(R))) Stream[R] {
	return Stream[R]{func(s *scope, to output[R]) upstream {
		next, now := to.next, int64(0)
		emit := func(v R) { next(v, now) }
		return singly(s, in, func(v T, at int64) {
			now = at
			f(v, emit)
		}, to.end)
	}}
}

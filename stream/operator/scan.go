package operator

// Scan passes on the running result of f: that of the last result, at first of start, and each value. The result is state.
func Scan[T, A any](in Stream[T], start A, f func(A, T) A) Stream[A] {
	return Stream[A]{func(s *scope, to output[A]) upstream {
		acc := start
		c, _ := newCell(s, "scan", &acc, func() (A, bool) { return acc, true })
		return singly(s, in, func(v T, at int64) {
			acc = f(acc, v)
			c.touch()
			to.next(acc, at)
		}, to.end)
	}}
}

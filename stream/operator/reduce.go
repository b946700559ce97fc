package operator

// Reduce passes on one value when in ends: the last result of f, as in Scan. A stream without values gives start.
func Reduce[T, A any](in Stream[T], start A, f func(A, T) A) Stream[A] {
	return Stream[A]{func(s *scope, to output[A]) clock {
		acc, last := start, int64(0)
		c, _ := newCell(s, "reduce", &acc, func() (A, bool) { return acc, true })
		return in.connect(s, output[T]{
			next: func(v T, at int64) {
				acc, last = f(acc, v), max(last, at)
				c.touch()
			},
			end: func() {
				to.next(acc, last)
				to.end()
			},
		})
	}}
}

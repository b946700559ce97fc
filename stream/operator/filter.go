package operator

// Filter passes on the values for which keep returns true.
func Filter[T any](in Stream[T], keep func(T) bool) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) upstream {
		next, buffers := to.next, &s.run.buffers
		return in.connect(s, output[T]{
			next: func(v T, at int64) {
				if keep(v) {
					next(v, at)
				}
			},
			end:   to.end,
			takes: to.takes,
			all: func(b *batch[T]) {
				kept := buffers.take()
				n := sift(kept, b, keep)
				b.chosen = kept[:n]
				if n > 0 {
					to.all(b)
				}
				buffers.release(kept)
			},
		})
	}}
}

// IgnoreElements passes on no value, and ends with in.
func IgnoreElements[T any](in Stream[T]) Stream[T] {
	return Filter(in, func(T) bool { return false })
}

// sift puts the indices of the chosen values for which keep returns true in kept, and returns their number. It writes each index and
// then counts it or not, because a processor cannot predict the branch of a filter that passes values at random.
func sift[T any](kept []int32, b *batch[T], keep func(T) bool) (n int) {
	kept, values := kept[:len(b.chosen)], b.values
	for _, i := range b.chosen {
		kept[n] = i
		passes := 0
		if keep(values[i]) {
			passes = 1
		}
		n += passes
	}
	return n
}

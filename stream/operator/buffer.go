package operator

import "cmp"

// defaultMaxValues is the most values of a Buffer whose Windows say nothing else.
const defaultMaxValues = 1 << 16

// Buffer passes on the values of each window as a slice.
func Buffer[T any](in Stream[T], w Windows) Stream[[]T] {
	w.maxValues = cmp.Or(w.maxValues, defaultMaxValues)
	return Map(Window(in, w, List[T]()), func(w Windowed[[]T]) []T { return w.Value })
}

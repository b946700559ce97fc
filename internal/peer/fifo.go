package peer

// FIFO is a queue that allocates only while it grows. The zero value is empty.
type FIFO[T any] struct {
	items []T
	head  int
}

// Len returns the number of items.
func (q *FIFO[T]) Len() int { return len(q.items) - q.head }

// Front returns the oldest item. The queue must not be empty.
func (q *FIFO[T]) Front() *T { return &q.items[q.head] }

// Back returns the newest item. The queue must not be empty.
func (q *FIFO[T]) Back() *T { return &q.items[len(q.items)-1] }

// All returns the items, oldest first. The slice is a view, valid until the next Push or Pop.
func (q *FIFO[T]) All() []T { return q.items[q.head:] }

// Push adds v at the end.
func (q *FIFO[T]) Push(v T) {
	if q.head > len(q.items)/2 && len(q.items) == cap(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, v)
}

// Pop removes the oldest item and returns it. The queue must not be empty.
func (q *FIFO[T]) Pop() T {
	var zero T
	v := q.items[q.head]
	q.items[q.head] = zero
	if q.head++; q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return v
}

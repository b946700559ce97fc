package bufpool

// List is a free list of objects that one goroutine uses, one after another. The zero value is empty.
type List[T any] struct{ free []*T }

// Take removes an object from the list, or returns nil if the list is empty.
func (l *List[T]) Take() *T {
	n := len(l.free) - 1
	if n < 0 {
		return nil
	}
	x := l.free[n]
	l.free[n] = nil
	l.free = l.free[:n]
	return x
}

// Put adds an object that nothing uses any more, if the list has fewer than most. It does nothing without Reuse.
func (l *List[T]) Put(x *T, most int) {
	if Reuse && len(l.free) < most {
		l.free = append(l.free, x)
	}
}

// Len returns how many objects are free.
func (l *List[T]) Len() int { return len(l.free) }

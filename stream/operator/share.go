package operator

// Share returns a stream that several operators of one run may use: its source runs once, and each value passes on to all of them, in
// the order in which they were built. Within a group, share the stream of the group.
func Share[T any](in Stream[T]) Stream[T] {
	id := new(int)
	return Stream[T]{func(s *scope, to output[T]) clock {
		if p, ok := s.shared[id].(*shared[T]); ok {
			p.to = append(p.to, to)
			return p.clock
		}
		p := &shared[T]{to: []output[T]{to}}
		if s.shared == nil {
			s.shared = map[*int]any{}
		}
		s.shared[id] = p
		p.clock = in.connect(s, output[T]{
			next: func(v T, at int64) {
				for i := range p.to {
					p.to[i].next(v, at)
				}
			},
			end: func() {
				for _, each := range p.to {
					each.end()
				}
			},
		})
		return p.clock
	}}
}

// shared are the users of one Share in one scope.
type shared[T any] struct {
	to    []output[T]
	clock clock
}

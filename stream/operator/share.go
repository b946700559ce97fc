package operator

import "slices"

// Share returns a stream that several operators of one run may use: its source runs once, and each value passes on to all of them, in
// the order in which they were built. Within a group, share the stream of the group. An error before Share reaches all of them. The source
// ends early when none of them wants further values.
func Share[T any](in Stream[T]) Stream[T] {
	id := new(int)
	return Stream[T]{func(s *scope, to output[T]) upstream {
		s.keeps("Share")
		p, ok := s.shared[id].(*shared[T])
		if !ok {
			p = &shared[T]{}
			if s.shared == nil {
				s.shared = map[*int]any{}
			}
			s.shared[id] = p
			held := s.held
			s.held = nil // one user may want the source at once
			fail := s.fail
			s.fail = p.fail
			p.up = singly(s, in, p.next, p.end)
			s.held, s.fail = held, fail
		}
		b := &branch[T]{to: to, fail: s.fail}
		p.branches = append(p.branches, b)
		return upstream{p.up.clock, func() { p.stop(s.run, b) }}
	}}
}

// shared are the users of one Share in one scope.
type shared[T any] struct {
	branches []*branch[T]
	up       upstream
}

type branch[T any] struct {
	to    output[T]
	fail  failing
	ended bool
}

func (p *shared[T]) next(v T, at int64) {
	for _, b := range p.branches {
		if !b.ended {
			b.to.next(v, at)
		}
	}
}

func (p *shared[T]) fail(err error, at int64) {
	for _, b := range p.branches {
		if !b.ended {
			b.fail.handle(err, at)
		}
	}
}

func (p *shared[T]) end() {
	for _, b := range p.branches {
		if !b.ended {
			b.ended = true
			b.to.end()
		}
	}
}

// stop ends a branch, and what is before Share with the last one.
func (p *shared[T]) stop(r *Running, b *branch[T]) {
	if b.ended {
		return
	}
	b.ended = true
	r.behindTurn(b.to.end)
	if !slices.ContainsFunc(p.branches, func(b *branch[T]) bool { return !b.ended }) {
		p.up.stop()
	}
}

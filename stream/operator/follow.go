package operator

import "fmt"

// Concat passes on the values of the first stream, then those of the second, and so on. The sources of a stream start when the one before it
// has ended; values of an Input or a Share that come before that are dropped. EventTime stands behind Concat, not before. Which stream is
// read is state.
func Concat[T any](in ...Stream[T]) Stream[T] {
	if len(in) == 0 {
		return Stream[T]{}
	}
	last := in[len(in)-1]
	for i := len(in) - 2; i >= 0; i-- {
		last = follow(in[i], last, "concat", false)
	}
	return last
}

// OnErrorResume passes on the values of in until an operator or a source before it fails. Then in ends, and the values of other follow, whose
// sources start then. EventTime stands behind OnErrorResume, not before. Which stream is read is state.
func OnErrorResume[T any](in, other Stream[T]) Stream[T] {
	return follow(in, other, "on-error-resume", true)
}

// follow passes on the values of first, and behind its end, or its first error, those of second.
func follow[T any](first, second Stream[T], kind string, onError bool) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) upstream {
		followed, stopped := false, false
		c, _ := newCell(s, kind, &followed, func() (bool, bool) { return followed, followed })
		var ups [2]upstream
		var held []func()
		turn := func() {
			if stopped {
				to.end()
				return
			}
			if !followed {
				followed = true
				c.touch()
			}
			ups[0].stop()
			for _, start := range held {
				start()
			}
		}
		// While is an output that passes on values only of the stream that is read.
		while := func(is bool, end func()) output[T] {
			return output[T]{
				next: func(v T, at int64) {
					if followed == is {
						to.next(v, at)
					}
				},
				all: func(b *batch[T]) {
					if followed == is {
						to.all(b)
					}
				},
				takes: to.takes,
				end: func() {
					if followed == is {
						end()
					}
				},
			}
		}
		fail, end := s.fail, turn
		if onError {
			fail = func(error, int64) {
				if !followed {
					turn() // further errors are those of values that are not passed on
				}
			}
			end = func() {
				to.end()
				ups[1].stop()
			}
		}
		ups[0] = catch(s, first, fail, while(false, end))
		outer, behind := s.held, s.fail
		s.held = &held
		ups[1] = catch(s, second, func(err error, at int64) {
			if followed {
				behind.handle(err, at)
			}
		}, while(true, to.end))
		s.held = outer
		for _, u := range ups {
			check(u.line == s.run.wall, func() error { return fmt.Errorf("%s of streams with EventTime: put EventTime behind it", kind) })
		}
		s.begin(func() {
			if followed {
				turn()
			}
		})
		u := earliest(ups[:])
		return upstream{u.clock, func() {
			stopped = true
			u.stop()
		}}
	}}
}

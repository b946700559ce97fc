package operator

// OnErrorReturn passes on what f returns for an error of an operator or a source before it, or nothing if f returns false. The values behind a
// value that has failed follow; a source that has failed ends. A panic of a function ends the run nevertheless.
func OnErrorReturn[T any](in Stream[T], f func(error) (v T, passes bool)) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) upstream {
		return catch(s, in, func(err error, at int64) {
			if v, passes := f(err); passes {
				to.next(v, at)
			}
		}, to)
	}}
}

// Errors passes on the errors of the operators and sources before it, and none of their values.
func Errors[T any](in Stream[T]) Stream[error] {
	return Stream[error]{func(s *scope, to output[error]) upstream {
		return catch(s, in, to.next, output[T]{next: func(T, int64) {}, end: to.end})
	}}
}

// DoOnError calls f with each error of an operator or a source before it. The error ends the run, or is handled behind.
func DoOnError[T any](in Stream[T], f func(error)) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) upstream {
		outer := s.fail
		return catch(s, in, func(err error, at int64) {
			f(err)
			outer.handle(err, at)
		}, to)
	}}
}

// DoOnNext calls f with each value before it passes it on.
func DoOnNext[T any](in Stream[T], f func(T)) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) upstream {
		next := to.next
		return in.connect(s, output[T]{
			next: func(v T, at int64) {
				f(v)
				next(v, at)
			},
			all: func(b *batch[T]) {
				for _, i := range b.chosen {
					f(b.values[i])
				}
				to.all(b)
			},
			takes: to.takes,
			end:   to.end,
		})
	}}
}

// DoOnDone calls f when in has ended without an error, also when an operator behind wants no further values.
func DoOnDone[T any](in Stream[T], f func()) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) upstream {
		out := to
		out.end = func() {
			f()
			to.end()
		}
		return in.connect(s, out)
	}}
}

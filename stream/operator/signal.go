package operator

import "math"

// TakeUntilBy passes on values until a value of signal comes, and ends. Its time is that of in.
func TakeUntilBy[T, S any](in Stream[T], signal Stream[S]) Stream[T] {
	return signalled(in, signal, "take-until-by", false)
}

// SkipUntilBy passes on the values that come behind the first value of signal. Its time is that of in.
func SkipUntilBy[T, S any](in Stream[T], signal Stream[S]) Stream[T] {
	return signalled(in, signal, "skip-until-by", true)
}

// signalled passes on the values before the first one of signal, and ends, or those behind it.
func signalled[T, S any](in Stream[T], signal Stream[S], kind string, behind bool) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) upstream {
		came, ended := false, false
		c, _ := newCell(s, kind, &came, func() (bool, bool) { return came, came })
		var on, by upstream
		end := func() {
			if !ended {
				ended = true
				to.end()
				on.stop()
				by.stop()
			}
		}
		on = in.connect(s, output[T]{
			next: func(v T, at int64) {
				if !ended && came == behind {
					to.next(v, at)
				}
			},
			end: end,
		})
		signals := func() {
			came = true
			by.stop()
			if !behind {
				end()
			}
		}
		by = signal.connect(s, output[S]{
			next: func(S, int64) {
				if !came {
					c.touch()
					signals()
				}
			},
			end: func() {},
		})
		s.begin(func() {
			if came {
				signals()
			}
		})
		return upstream{on.clock, func() {
			on.stop()
			by.stop()
		}}
	}}
}

// SampleBy passes on the last value of in when a value of signal comes, unless it has passed it on before, with the later one's time. When in
// ends, the last value is passed on at once. The value that waits is state.
func SampleBy[T, S any](in Stream[T], signal Stream[S]) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) upstream {
		var waits Optional[Timed[T]]
		c, _ := newCell(s, "sample-by", &waits, func() (Optional[Timed[T]], bool) { return waits, waits.Set })
		emit := func(at int64) {
			if waits.Set {
				v := waits.Value
				waits = Optional[Timed[T]]{}
				c.touch()
				to.next(v.Value, max(v.At, at))
			}
		}
		e := newEnding(s)
		e.last = func() { emit(math.MinInt64) }
		var by upstream
		on := e.watch(s, in.connect(s, output[T]{
			next: func(v T, at int64) {
				e.value()
				waits = Optional[Timed[T]]{Timed[T]{v, at}, true}
				c.touch()
			},
			end: e.ends(func() {
				to.end()
				by.stop()
			}),
		}))
		by = signal.connect(s, output[S]{next: func(_ S, at int64) { emit(at) }, end: func() {}})
		return earliest([]upstream{on, by})
	}}
}

package operator

import (
	"fmt"
	"math"
)

// Take passes on the first n values, and ends.
func Take[T any](in Stream[T], n int) Stream[T] {
	return gate(in, gateRule[T]{kind: "take", count: n, start: gateState{Done: n == 0}, decide: func(st *gateState, _ T) (passes, ends bool) {
		st.Count++
		return true, st.Count >= n
	}})
}

// TakeWhile passes on values while keep returns true for them, and ends before the first other one.
func TakeWhile[T any](in Stream[T], keep func(T) bool) Stream[T] {
	return gate(in, gateRule[T]{kind: "take-while", decide: func(_ *gateState, v T) (passes, ends bool) {
		passes = keep(v)
		return passes, !passes
	}})
}

// TakeUntil passes on values up to the first one for which last returns true, that one included, and ends.
func TakeUntil[T any](in Stream[T], last func(T) bool) Stream[T] {
	return gate(in, gateRule[T]{kind: "take-until", decide: func(_ *gateState, v T) (passes, ends bool) { return true, last(v) }})
}

// FirstValue passes on the first value, and ends.
func FirstValue[T any](in Stream[T]) Stream[T] { return Take(in, 1) }

// ElementAt passes on the value that n others came before, and ends.
func ElementAt[T any](in Stream[T], n int) Stream[T] {
	return gate(in, gateRule[T]{kind: "element", count: n, decide: func(st *gateState, _ T) (passes, ends bool) {
		st.Count++
		return st.Count > n, st.Count > n
	}})
}

// Find passes on the first value for which is returns true, and ends.
func Find[T any](in Stream[T], is func(T) bool) Stream[T] {
	return gate(in, gateRule[T]{kind: "find", decide: func(_ *gateState, v T) (passes, ends bool) {
		passes = is(v)
		return passes, passes
	}})
}

// Skip passes on the values behind the first n.
func Skip[T any](in Stream[T], n int) Stream[T] {
	return gate(in, gateRule[T]{kind: "skip", count: n, endless: true, decide: func(st *gateState, _ T) (passes, ends bool) {
		if st.Count < n {
			st.Count++
			return false, false
		}
		return true, false
	}})
}

// SkipWhile passes on all values from the first one on for which drop returns false.
func SkipWhile[T any](in Stream[T], drop func(T) bool) Stream[T] {
	return gate(in, gateRule[T]{kind: "skip-while", endless: true, decide: func(st *gateState, v T) (passes, ends bool) {
		if st.Count == 0 && drop(v) {
			return false, false
		}
		st.Count = 1
		return true, false
	}})
}

// Contains passes on true when a value comes for which is returns true, and ends, or false when in ends before.
func Contains[T any](in Stream[T], is func(T) bool) Stream[bool] {
	return DefaultIfEmpty(Map(Find(in, is), func(T) bool { return true }), false)
}

// All passes on false when a value comes for which is returns false, and ends, or true when in ends before.
func All[T any](in Stream[T], is func(T) bool) Stream[bool] {
	return Map(Contains(in, func(v T) bool { return !is(v) }), func(other bool) bool { return !other })
}

// SequenceEqual passes on whether two streams have the same values in the same order, as soon as that is known, and ends. equal compares
// two values. The bound of the values that wait is that of Zip.
func SequenceEqual[T any](a, b Stream[T], equal func(a, b T) bool) Stream[bool] {
	return All(Zip(withEnd(a), withEnd(b), func(a, b Optional[T]) bool {
		return a.Set == b.Set && (!a.Set || equal(a.Value, b.Value))
	}), func(same bool) bool { return same })
}

// withEnd passes on each value, and an Optional without one when in ends.
func withEnd[T any](in Stream[T]) Stream[Optional[T]] {
	return Stream[Optional[T]]{func(s *scope, to output[Optional[T]]) upstream {
		last := int64(math.MinInt64)
		e := newEnding(s)
		e.last = func() { to.next(Optional[T]{}, e.timeOf(last)) }
		return e.watch(s, in.connect(s, output[T]{
			next: func(v T, at int64) {
				e.value()
				last = max(last, at)
				to.next(Optional[T]{v, true}, at)
			},
			end: e.ends(to.end),
		}))
	}}
}

// gateRule says which values a gate passes on.
type gateRule[T any] struct {
	kind    string
	count   int // a limit, for its check
	start   gateState
	endless bool // decide never ends the stream
	decide  func(st *gateState, v T) (passes, ends bool)
}

// gateState is the state of a gate.
type gateState struct {
	Count int
	Done  bool // the stream has ended early
}

// gate passes on the values that its rule lets pass, until the rule ends the stream. Then the sources that no other operator needs end, too.
func gate[T any](in Stream[T], rule gateRule[T]) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) upstream {
		check(rule.count >= 0, func() error {
			return fmt.Errorf("%s with %d: want a number that is not negative", rule.kind, rule.count)
		})
		st, buffers := rule.start, &s.run.buffers
		c, _ := newCell(s, rule.kind, &st, func() (gateState, bool) { return st, st != rule.start })
		var up upstream
		ended := false
		end := func() {
			if !ended {
				ended = true
				to.end()
				up.stop()
			}
		}
		takes := to.takes
		if !rule.endless {
			takes = to.takesEmitting
		}
		up = in.connect(s, output[T]{
			next: func(v T, at int64) {
				if st.Done {
					return
				}
				before := st
				passes, ends := rule.decide(&st, v)
				st.Done = ends
				if st != before {
					c.touch()
				}
				if passes {
					to.next(v, at)
				}
				if ends {
					end()
				}
			},
			takes: takes,
			all: func(b *batch[T]) {
				before := st
				kept, n := buffers.take(), 0
				for k := 0; k < len(b.chosen) && !st.Done; k++ {
					passes := false
					if passes, st.Done = rule.decide(&st, b.values[b.chosen[k]]); passes {
						kept[n] = b.chosen[k]
						n++
					}
				}
				if st != before {
					c.touch()
				}
				if b.chosen = kept[:n]; n > 0 {
					to.all(b)
				}
				buffers.release(kept)
				if st.Done {
					end()
				}
			},
			end: end,
		})
		s.begin(func() {
			if st.Done {
				end()
			}
		})
		return up
	}}
}

package operator

import (
	"math"
)

// Reduce passes on one value when in ends: the last result of f, as in Scan. A stream without values gives start.
func Reduce[T, A any](in Stream[T], start A, f func(A, T) A) Stream[A] {
	return fold(in, "reduce", func(*Running) (A, func(*A, T)) {
		return start, func(acc *A, v T) { *acc = f(*acc, v) }
	})
}

// ToMap passes on one map when in ends: value(v) of the last value of each key. Values of more than 65536 keys are dropped and counted. The
// map is state.
func ToMap[T any, K comparable, V any](in Stream[T], key func(T) K, value func(T) V) Stream[map[K]V] {
	return fold(in, "map", func(r *Running) (map[K]V, func(*map[K]V, T)) {
		return map[K]V{}, func(all *map[K]V, v T) {
			k := key(v)
			if _, known := (*all)[k]; !known && len(*all) >= defaultMaxKeys {
				r.drop("keys of ToMap", defaultMaxKeys)
				return
			}
			(*all)[k] = value(v)
		}
	})
}

// fold passes on what add has gathered, when in ends.
func fold[T, A any](in Stream[T], kind string, start func(*Running) (A, func(*A, T))) Stream[A] {
	return Stream[A]{func(s *scope, to output[A]) upstream {
		acc, add := start(s.run)
		last := int64(math.MinInt64)
		c, _ := newCell(s, kind, &acc, func() (A, bool) { return acc, true })
		e := newEnding(s)
		e.last = func() { to.next(acc, e.timeOf(last)) }
		return e.watch(s, in.connect(s, output[T]{
			next: func(v T, at int64) {
				e.value()
				add(&acc, v)
				last = max(last, at)
				c.touch()
			},
			all: func(b *batch[T]) {
				e.value()
				for _, i := range b.chosen {
					add(&acc, b.values[i])
					last = max(last, b.at[i])
				}
				c.touch()
			},
			takes: takesQuietly,
			end:   e.ends(to.end),
		}))
	}}
}

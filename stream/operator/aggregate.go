package operator

import (
	"cmp"
	"math"
)

// Aggregate makes one result of the values of a window. Its functions must not keep what they are passed.
type Aggregate[T, A, R any] struct {
	New    func() A    // of a window without values
	Add    func(*A, T) // adds a value
	Merge  func(*A, A) // adds what another window has gathered: only Session needs it
	Result func(*A) R  // of a window; it may be called again after further values

	addAll func(acc *A, values []T, chosen []int32) // Add for several values; nil calls Add
}

// addChosen adds the chosen values of a batch.
func (a *Aggregate[T, A, R]) addChosen(acc *A, values []T, chosen []int32) {
	if a.addAll != nil {
		a.addAll(acc, values, chosen)
		return
	}
	for _, i := range chosen {
		a.Add(acc, values[i])
	}
}

// Count counts the values.
func Count[T any]() Aggregate[T, int, int] {
	return Aggregate[T, int, int]{
		New:    func() int { return 0 },
		Add:    func(n *int, _ T) { *n++ },
		Merge:  func(n *int, m int) { *n += m },
		Result: func(n *int) int { return *n },
		addAll: func(n *int, _ []T, chosen []int32) { *n += len(chosen) },
	}
}

// Sum adds up of(v).
func Sum[T any, N int | int64 | uint64 | float64](of func(T) N) Aggregate[T, N, N] {
	return Aggregate[T, N, N]{
		New:    func() N { return 0 },
		Add:    func(sum *N, v T) { *sum += of(v) },
		Merge:  func(sum *N, other N) { *sum += other },
		Result: func(sum *N) N { return *sum },
		addAll: func(acc *N, values []T, chosen []int32) { *acc = addUp(*acc, values, chosen, of) },
	}
}

// Average is what Mean has gathered.
type Average struct {
	Sum   float64
	Count int64
}

// Mean is the mean of of(v).
func Mean[T any](of func(T) float64) Aggregate[T, Average, float64] {
	return Aggregate[T, Average, float64]{
		New: func() Average { return Average{} },
		Add: func(a *Average, v T) {
			a.Sum += of(v)
			a.Count++
		},
		Merge: func(a *Average, b Average) {
			a.Sum += b.Sum
			a.Count += b.Count
		},
		Result: func(a *Average) float64 {
			if a.Count == 0 {
				return math.NaN()
			}
			return a.Sum / float64(a.Count)
		},
		addAll: func(a *Average, values []T, chosen []int32) {
			a.Sum = addUp(a.Sum, values, chosen, of)
			a.Count += int64(len(chosen))
		},
	}
}

// addUp adds of(v) of the chosen values to sum.
func addUp[T any, N int | int64 | uint64 | float64](sum N, values []T, chosen []int32, of func(T) N) N {
	for _, i := range chosen {
		sum += of(values[i])
	}
	return sum
}

// Optional is a value that may be missing.
type Optional[V any] struct {
	Value V
	Set   bool
}

// Min is the least of of(v).
func Min[T any, V cmp.Ordered](of func(T) V) Aggregate[T, Optional[V], V] {
	return choose(of, func(a, b V) bool { return b < a })
}

// Max is the greatest of of(v).
func Max[T any, V cmp.Ordered](of func(T) V) Aggregate[T, Optional[V], V] {
	return choose(of, func(a, b V) bool { return b > a })
}

// First is of(v) of the value that came first.
func First[T, V any](of func(T) V) Aggregate[T, Optional[V], V] {
	return choose(of, func(V, V) bool { return false })
}

// Last is of(v) of the value that came last.
func Last[T, V any](of func(T) V) Aggregate[T, Optional[V], V] {
	return choose(of, func(V, V) bool { return true })
}

// choose keeps one value: the second of two if better returns true.
func choose[T, V any](of func(T) V, better func(a, b V) bool) Aggregate[T, Optional[V], V] {
	add := func(a *Optional[V], v V) {
		if !a.Set || better(a.Value, v) {
			*a = Optional[V]{v, true}
		}
	}
	return Aggregate[T, Optional[V], V]{
		New: func() Optional[V] { return Optional[V]{} },
		Add: func(a *Optional[V], v T) { add(a, of(v)) },
		Merge: func(a *Optional[V], b Optional[V]) {
			if b.Set {
				add(a, b.Value)
			}
		},
		Result: func(a *Optional[V]) V { return a.Value },
	}
}

// List has all values, in the order in which they came. Windows.MaxValues bounds it.
func List[T any]() Aggregate[T, []T, []T] {
	return Aggregate[T, []T, []T]{
		New:    func() []T { return nil },
		Add:    func(list *[]T, v T) { *list = append(*list, v) },
		Merge:  func(list *[]T, other []T) { *list = append(*list, other...) },
		Result: func(list *[]T) []T { return append([]T(nil), *list...) },
	}
}

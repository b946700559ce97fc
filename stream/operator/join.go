package operator

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"
)

// Joining says which values Join brings together.
type Joining struct {
	// Within is the most time between two values that belong together.
	Within time.Duration

	// Max is the most values that wait for others; 0 means 65536. Further ones are dropped and counted.
	Max int
}

// Join passes on one value of each stream, in the order of the streams, for all values with the same key whose times are close enough. A
// result has the time of its latest value. A value waits until the time of the streams, the earliest one as in Merge, has passed its own
// by more than Within; one that comes after that is late. The values that wait are state.
func Join[T any, K comparable](in []Stream[T], key func(T) K, j Joining) Stream[[]T] {
	return Stream[[]T]{func(s *scope, to output[[]T]) upstream {
		check(len(in) > 1 && j.Within >= 0 && j.Max >= 0, func() error {
			return fmt.Errorf("join of %d streams within %v, Max %d: want at least 2 streams, and no negative limits", len(in), j.Within, j.Max)
		})
		j.Max = cmp.Or(j.Max, defaultMaxKeys)
		o := &join[T, K]{Joining: j, run: s.run, to: to, key: key, sides: len(in), byKey: map[K][]*joinValue[T]{}, chosen: make([]T, len(in)), left: len(in)}
		o.timer.fire = o.expire
		o.cell, _ = newCell(s, "join", &o.queue, func() ([]*joinValue[T], bool) { return o.queue, len(o.queue) > 0 })
		var ups []upstream
		for side, each := range in {
			ups = append(ups, each.connect(s, output[T]{next: func(v T, at int64) { o.next(side, v, at) }, end: o.end}))
		}
		o.up = earliest(ups)
		for _, v := range o.queue {
			check(v.Side < o.sides, func() error {
				return fmt.Errorf("the stored state of join has %d streams or more, want %d", v.Side+1, o.sides)
			})
			k := key(v.Value)
			o.byKey[k] = append(o.byKey[k], v)
		}
		o.schedule()
		return o.up.behind()
	}}
}

// join has the values that wait for others.
type join[T any, K comparable] struct {
	Joining
	run    *Running
	to     output[[]T]
	up     upstream
	timer  timer // of the value that expires first
	cell   *cell
	key    func(T) K
	sides  int
	byKey  map[K][]*joinValue[T] // each sorted by At
	queue  []*joinValue[T]       // sorted by At
	chosen []T                   // of the sides
	left   int                   // streams that have not ended
}

type joinValue[T any] struct {
	Side  int
	Value T
	At    int64
}

func (o *join[T, K]) next(side int, v T, at int64) {
	if later(at, o.Within) < o.up.now() {
		o.run.late(at)
		return
	}
	k := o.key(v)
	o.chosen[side] = v
	o.choose(o.byKey[k], side, 0, at, at)
	if len(o.queue) >= o.Max {
		o.run.drop("Max of join", o.Max)
		return
	}
	w := &joinValue[T]{side, v, at}
	o.byKey[k], o.queue = w.insert(o.byKey[k]), w.insert(o.queue)
	o.schedule()
	o.cell.touch()
}

// choose chooses the values of the sides from side on, and passes on each choice. The chosen ones have times between from and to.
func (o *join[T, K]) choose(waiting []*joinValue[T], given, side int, from, to int64) {
	if side == given {
		side++
	}
	if side >= o.sides {
		o.to.next(slices.Clone(o.chosen), to)
		return
	}
	for _, w := range waiting {
		first, last := min(from, w.At), max(to, w.At)
		if w.Side == side && last-first <= int64(o.Within) {
			o.chosen[side] = w.Value
			o.choose(waiting, given, side+1, first, last)
		}
	}
}

func (o *join[T, K]) schedule() {
	if len(o.queue) > 0 {
		o.up.schedule(&o.timer, later(o.queue[0].At, o.Within+1))
	}
}

// expire removes the values that are too old at a time.
func (o *join[T, K]) expire(now int64) {
	n := 0
	for n < len(o.queue) && later(o.queue[n].At, o.Within) < now {
		o.removeFirst(o.key(o.queue[n].Value))
		n++
	}
	clear(o.queue[:n])
	o.queue = o.queue[n:]
	o.schedule()
	o.cell.touch()
}

// removeFirst removes the earliest value of a key.
func (o *join[T, K]) removeFirst(k K) {
	list := o.byKey[k]
	if len(list) == 1 {
		delete(o.byKey, k)
		return
	}
	list[0] = nil
	o.byKey[k] = list[1:]
}

// insert inserts w behind the values that are not later.
func (w *joinValue[T]) insert(list []*joinValue[T]) []*joinValue[T] {
	i := sort.Search(len(list), func(i int) bool { return list[i].At > w.At })
	return slices.Insert(list, i, w)
}

// end ends the stream with the last of its streams.
func (o *join[T, K]) end() {
	if o.left--; o.left > 0 {
		return
	}
	o.up.cancel(&o.timer)
	o.to.end()
}

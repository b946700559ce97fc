package operator

import (
	"cmp"
	"fmt"
	"time"
)

// Distinctness bounds what Distinct remembers.
type Distinctness struct {
	// Max is the most keys; 0 means 65536. When there are more, the key that was passed on first is forgotten.
	Max int

	// For is how long a key is remembered, on the clock of the stream. Zero means until there are more than Max.
	For time.Duration
}

// Distinct passes on the first value of each key. The keys are state.
func Distinct[T any, K comparable](in Stream[T], key func(T) K, d Distinctness) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) upstream {
		check(d.Max >= 0 && d.For >= 0, func() error { return fmt.Errorf("distinct with Max %d and For %v: want none negative", d.Max, d.For) })
		d.Max = cmp.Or(d.Max, defaultMaxKeys)
		o := &distinct[K]{Distinctness: d, known: map[K]bool{}}
		c, _ := newCell(s, "distinct", &o.order.all, func() ([]distinctKey[K], bool) { return o.order.list(), len(o.known) > 0 })
		for _, k := range o.order.all {
			o.known[k.Key] = true
		}
		var on upstream
		on = singly(s, in, func(v T, at int64) {
			if d.For > 0 {
				o.forget(on.now())
			}
			k := key(v)
			if o.known[k] {
				return
			}
			o.add(k, at)
			c.touch()
			to.next(v, at)
		}, to.end)
		return on
	}}
}

// defaultMaxKeys is the most keys that an operator remembers by default.
const defaultMaxKeys = 1 << 16

// distinct are the keys that were passed on.
type distinct[K comparable] struct {
	Distinctness
	known map[K]bool
	order queue[distinctKey[K]] // as they were passed on
}

type distinctKey[K comparable] struct {
	Key K
	At  int64
}

func (o *distinct[K]) add(k K, at int64) {
	if len(o.known) >= o.Max {
		o.forgetFirst()
	}
	o.known[k] = true
	o.order.push(distinctKey[K]{k, at})
}

// forget removes the keys that are too old.
func (o *distinct[K]) forget(now int64) {
	for o.order.len() > 0 && later(o.order.list()[0].At, o.For) <= now {
		o.forgetFirst()
	}
}

func (o *distinct[K]) forgetFirst() { delete(o.known, o.order.pop().Key) }

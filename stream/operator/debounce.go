package operator

import (
	"fmt"
	"time"
)

// Debounce passes on a value when no other one came for the time quiet, on the clock of the stream. Its time is then. When in ends, the
// last value is passed on at once. The value that waits is state.
func Debounce[T any](in Stream[T], quiet time.Duration) Stream[T] {
	return hold(in, "debounce", quiet, func(o *held[T], at int64) { o.wait(later(at, quiet)) })
}

// Sample passes on the last value of each interval in which values came, at the end of the interval. Intervals begin at multiples of every
// since 1970, on the clock of the stream. When in ends, the last value is passed on at once. The value that waits is state.
func Sample[T any](in Stream[T], every time.Duration) Stream[T] {
	return hold(in, "sample", every, func(o *held[T], at int64) {
		if o.timer.place == 0 {
			o.wait(later(at-floorMod(at, int64(every)), every))
		}
	})
}

// AuditTime passes on the last value of the time d that begins with a value, at the end of that time, on the clock of the stream. The next
// value begins the next such time. When in ends, the last value is passed on at once. The value that waits is state.
func AuditTime[T any](in Stream[T], d time.Duration) Stream[T] {
	return hold(in, "audit", d, func(o *held[T], at int64) {
		if o.timer.place == 0 {
			o.wait(later(at, d))
		}
	})
}

// hold keeps the last value until a time that arrived has set.
func hold[T any](in Stream[T], kind string, d time.Duration, arrived func(o *held[T], at int64)) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) upstream {
		check(d > 0, func() error { return fmt.Errorf("%s with a time of %v: want a positive one", kind, d) })
		o := &held[T]{to: to}
		o.timer.fire = o.release
		restored := false
		o.cell, restored = newCell(s, kind, &o.value, func() (heldValue[T], bool) { return o.value, o.value.Waits })
		o.up = in.connect(s, output[T]{
			next: func(v T, at int64) {
				o.value.Value, o.value.Waits = v, true
				arrived(o, at)
				o.cell.touch()
			},
			end: func() {
				if o.value.Waits {
					o.up.cancel(&o.timer)
					o.release(min(o.value.Due, o.up.now()))
				}
				to.end()
			},
		})
		if restored {
			o.wait(o.value.Due)
		}
		return o.up.behind()
	}}
}

// held is the value of an operator that waits.
type held[T any] struct {
	to    output[T]
	up    upstream
	timer timer
	cell  *cell
	value heldValue[T]
}

type heldValue[T any] struct {
	Value T
	Due   int64
	Waits bool
}

func (o *held[T]) wait(due int64) {
	o.value.Due = max(due, o.up.now())
	o.up.schedule(&o.timer, o.value.Due)
}

func (o *held[T]) release(at int64) {
	v := o.value.Value
	o.value = heldValue[T]{}
	o.cell.touch()
	o.to.next(v, at)
}

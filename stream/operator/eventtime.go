package operator

import (
	"fmt"
	"math"
	"time"
)

// Disorder says how the times of a source's values go up.
type Disorder struct {
	// Bound is how much earlier than a value the ones behind it may be. The watermark, the time up to which windows are complete, is the
	// latest time of a value less Bound. Zero means that the times never go down.
	Bound time.Duration

	// Idle is the time without values after which Merge, Zip and Join do not wait for this source any more. Zero means that they
	// always wait.
	Idle time.Duration

	// Ahead is how far in the future, by the clock of the system, the time of a value that moves the watermark may be. A later value,
	// from a device with a wrong clock, is passed on with its time and does not make the values behind it late. Zero means no limit.
	Ahead time.Duration
}

// EventTime gives each value the time that at returns, in Unix nanoseconds, or with a nil at the time
// that the source has given: that of a message, or of Input.Push. The operators behind it measure time by these values: it goes on
// when a value with a later time comes, and not otherwise. When in ends, all time has passed.
func EventTime[T any](in Stream[T], at func(T) int64, d Disorder) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) upstream {
		check(d.Bound >= 0 && d.Idle >= 0 && d.Ahead >= 0, func() error {
			return fmt.Errorf("event time with Bound %v, Idle %v and Ahead %v: want none negative", d.Bound, d.Idle, d.Ahead)
		})
		check(!s.run.started && s.path == "", func() error { return fmt.Errorf("EventTime within a group of GroupBy: put it before GroupBy") })
		o := &eventTime[T]{Disorder: d, run: s.run, line: newTimeline(math.MinInt64), latest: math.MinInt64, of: at, to: to, active: func() {}}
		restored := false
		if o.cell, restored = newCell(s, "time", &o.latest, func() (int64, bool) { return o.latest, true }); restored {
			o.line.now = earlier(o.latest, int64(d.Bound))
		}
		if d.Idle > 0 {
			o.active = o.line.idleAfter(s.run, d.Idle)
		}
		takes := func() taking {
			if to.taking() == quietly {
				return quietly
			}
			return oneByOne
		}
		u := catch(s, in, o.failing(s.fail), output[T]{
			next:  o.receiver(),
			all:   o.takeAll,
			takes: takes,
			end: func() {
				o.line.idle = false
				o.line.advance(math.MaxInt64)
				to.end()
			},
		})
		return upstream{clock{line: o.line}, u.stop}
	}}
}

// eventTime moves a timeline by the times of values.
type eventTime[T any] struct {
	Disorder
	run    *Running
	line   *timeline
	latest int64 // that has moved the timeline
	cell   *cell
	of     func(T) int64 // time of a value; nil means the one that the source has given
	to     output[T]
	active func() // notes a value, for Idle

	times []int64 // of a batch
	part  batch[T]
}

// failing returns what handles the errors before the operator: their time is then that of the latest value.
func (o *eventTime[T]) failing(behind failing) failing {
	if behind == nil {
		return nil
	}
	return func(err error, at int64) {
		if o.latest != math.MinInt64 {
			at = o.latest
		}
		behind(err, at)
	}
}

// receiver returns the next of the operator.
func (o *eventTime[T]) receiver() func(v T, at int64) {
	of, next := o.of, o.to.next
	if of != nil && o.Idle == 0 && o.Ahead == 0 {
		return func(v T, _ int64) {
			t := of(v)
			o.arrive(t, math.MaxInt64)
			next(v, t)
		}
	}
	return func(v T, _ int64) {
		t := o.run.given
		if of != nil {
			t = of(v)
		}
		o.arrive(t, o.most())
		o.active()
		next(v, t)
	}
}

// arrive moves the timeline to a time, unless that is later than most.
func (o *eventTime[T]) arrive(t, most int64) {
	if t > o.latest && t <= most {
		o.latest = t
		o.cell.touch()
		o.line.advance(earlier(t, int64(o.Bound)))
	}
}

// most returns the latest time of a value that moves the timeline.
func (o *eventTime[T]) most() int64 {
	if o.Ahead == 0 {
		return math.MaxInt64
	}
	return later(o.run.wall.now, o.Ahead)
}

// takeAll passes on a batch. If time reaches a timer meanwhile, or a value may be late, it does so in parts.
func (o *eventTime[T]) takeAll(b *batch[T]) {
	o.active()
	most := o.most()
	times, least, latest := o.timesOf(b, most)
	o.part = batch[T]{b.values, times, b.given, b.chosen}
	if earlier(latest, int64(o.Bound)) < min(o.line.due, o.line.horizon(least)) {
		o.arrive(latest, most)
		o.to.all(&o.part)
	} else {
		o.takeParts(b, times, most)
	}
	o.part = batch[T]{}
}

// timesOf returns the times of the values of a batch, the earliest one, and the latest one that moves the timeline.
func (o *eventTime[T]) timesOf(b *batch[T], most int64) (times []int64, least, latest int64) {
	times, least, latest = b.given, math.MaxInt64, o.latest
	if o.of != nil {
		if o.times == nil {
			o.times = make([]int64, batchSize)
		}
		times = o.times[:len(b.values)]
	}
	of, values := o.of, b.values
	for _, i := range b.chosen {
		if of != nil {
			times[i] = of(values[i])
		}
		t := times[i]
		least = min(least, t)
		if t <= most {
			latest = max(latest, t)
		}
	}
	return times, least, latest
}

// takeParts passes on a batch in parts. A value that moves the timeline to a timer, or may be late, is passed on alone.
func (o *eventTime[T]) takeParts(b *batch[T], times []int64, most int64) {
	given := o.run.given
	for rest := b.chosen; len(rest) > 0; {
		n := o.untimed(times, rest, most)
		if n == 0 {
			i := rest[0]
			o.run.given = b.given[i]
			o.arrive(times[i], most)
			o.to.next(b.values[i], times[i])
			rest = rest[1:]
			continue
		}
		o.part = batch[T]{b.values, times, b.given, rest[:n]}
		o.to.all(&o.part)
		rest = rest[n:]
	}
	o.run.given = given
}

// untimed moves the timeline by the first values for which no timer is due and that are not late, and returns their number.
func (o *eventTime[T]) untimed(times []int64, chosen []int32, most int64) int {
	latest, least, limit, bound := o.latest, int64(math.MaxInt64), o.line.due, int64(o.Bound)
	n := len(chosen)
	for k, i := range chosen {
		t := times[i]
		if t < least {
			least = t
			limit = min(limit, o.line.horizon(t))
		}
		moved := latest
		if t <= most {
			moved = max(latest, t)
		}
		if earlier(moved, bound) >= limit {
			n = k
			break
		}
		latest = moved
	}
	if n > 0 {
		o.arrive(latest, most)
	}
	return n
}

// idleAfter makes the timeline idle when active was not called for a time. It looks twice in that time.
func (l *timeline) idleAfter(r *Running, d time.Duration) (active func()) {
	wall := r.wallClock()
	values, quiet := 0, 0
	t := &timer{}
	t.fire = func(at int64) {
		switch {
		case values > 0:
			values, quiet = 0, 0
		default:
			quiet++
		}
		if quiet < 2 {
			wall.schedule(t, later(at, d/2+1))
			return
		}
		l.idle = true
		for _, changed := range l.watchers {
			changed()
		}
	}
	wall.schedule(t, later(wall.now(), d/2+1))
	return func() {
		values++
		if l.idle {
			l.idle, quiet = false, 0
			wall.schedule(t, later(wall.now(), d/2+1))
		}
	}
}

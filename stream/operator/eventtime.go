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
}

// EventTime gives each value the time that at returns, in Unix nanoseconds, or with a nil at the time
// that the source has given: that of a message, or of Input.Push. The operators behind it measure time by these values: it goes on
// when a value with a later time comes, and not otherwise. When in ends, all time has passed.
func EventTime[T any](in Stream[T], at func(T) int64, d Disorder) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) clock {
		check(d.Bound >= 0 && d.Idle >= 0, func() error {
			return fmt.Errorf("event time with Bound %v and Idle %v: want none negative", d.Bound, d.Idle)
		})
		check(!s.run.started && s.path == "", func() error { return fmt.Errorf("EventTime within a group of GroupBy: put it before GroupBy") })
		run := s.run
		line, next, bound := newTimeline(math.MinInt64), to.next, int64(d.Bound)
		latest := int64(math.MinInt64)
		c, restored := newCell(s, "time", &latest, func() (int64, bool) { return latest, true })
		if restored {
			line.now = latest - bound
		}
		active := func() {}
		if d.Idle > 0 {
			active = line.idleAfter(s.run, d.Idle)
		}
		arrive := func(t int64) {
			if t > latest {
				latest = t
				c.touch()
				line.advance(t - bound)
			}
		}
		receive := func(v T, _ int64) {
			t := at(v)
			arrive(t)
			next(v, t)
		}
		if at == nil || d.Idle > 0 {
			receive = func(v T, _ int64) {
				t := run.given
				if at != nil {
					t = at(v)
				}
				arrive(t)
				active()
				next(v, t)
			}
		}
		ended := false
		in.connect(s, output[T]{
			next: receive,
			end: func() {
				if !ended {
					ended, line.idle = true, false
					line.advance(math.MaxInt64)
				}
				to.end()
			},
		})
		return clock{line: line}
	}}
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

package operator

import "math"

// Merge passes on the values of all streams as they come. It ends when all have ended. Its time is the earliest of the times of the
// streams that are not idle (Disorder.Idle) and have not ended.
func Merge[T any](in ...Stream[T]) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) upstream {
		left := len(in)
		if left == 0 {
			return Stream[T]{}.connect(s, to)
		}
		out := to
		out.end = func() {
			if left--; left == 0 {
				to.end()
			}
		}
		var ups []upstream
		for _, each := range in {
			ups = append(ups, each.connect(s, out))
		}
		return earliest(ups)
	}}
}

// earliest returns the upstream of an operator with several: the earliest of their times, and an end of all.
func earliest(ups []upstream) upstream {
	stop := func() {
		for _, u := range ups {
			u.stop()
		}
	}
	first, lines := ups[0].clock, []*timeline{}
	for _, u := range ups {
		if u.line == first.line {
			first.level = max(first.level, u.level)
		} else {
			lines = append(lines, u.line)
		}
	}
	if len(lines) == 0 {
		return upstream{first, stop}
	}
	lines = append(lines, first.line)
	merged := newTimeline(math.MinInt64)
	if now, ok := earliestTime(lines); ok {
		merged.now = now
	}
	for _, l := range lines {
		l.watch(func() {
			if now, ok := earliestTime(lines); ok {
				merged.advance(now)
			}
		})
	}
	return upstream{clock{line: merged}, stop}
}

// earliestTime returns the earliest time of the timelines that are not idle. If all are idle, time stands still.
func earliestTime(lines []*timeline) (now int64, ok bool) {
	now = math.MaxInt64
	for _, l := range lines {
		if !l.idle {
			now, ok = min(now, l.now), true
		}
	}
	return now, ok
}

package operator

import "math"

// Merge passes on the values of all streams as they come. It ends when all have ended. Its time is the earliest of the times of the
// streams that are not idle (Disorder.Idle) and have not ended.
func Merge[T any](in ...Stream[T]) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) clock {
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
		var clocks []clock
		for _, each := range in {
			clocks = append(clocks, each.connect(s, out))
		}
		return earliest(clocks)
	}}
}

// earliest returns a clock that has the earliest of the times of others.
func earliest(clocks []clock) clock {
	first, lines := clocks[0], []*timeline{}
	for _, c := range clocks {
		if c.line == first.line {
			first.level = max(first.level, c.level)
		} else {
			lines = append(lines, c.line)
		}
	}
	if len(lines) == 0 {
		return first
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
	return clock{line: merged}
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

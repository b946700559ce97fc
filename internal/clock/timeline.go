package clock

import "time"

// Timeline is a wall clock that never goes back: after a step of the system's clock backwards it goes on evenly, and stays ahead. A step
// forwards is a step of the Timeline, too. It is for windows of wall time, which would otherwise stay open for as long as the step was.
// The zero value works. Its methods may not overlap.
type Timeline struct{ wall, elapsed int64 }

// Now returns the time in Unix nanoseconds.
func (t *Timeline) Now() int64 {
	now := time.Now()
	return t.next(now.UnixNano(), At(now))
}

func (t *Timeline) next(wall, elapsed int64) int64 {
	if t.wall != 0 {
		wall = max(wall, t.wall+elapsed-t.elapsed)
	}
	t.wall, t.elapsed = wall, elapsed
	return wall
}

package load

import (
	"context"
	"time"
)

// clock is the time of a run. Tests replace it.
type clock interface {
	// now is the time since the start of the clock.
	now() time.Duration
	// sleepUntil returns at the given time or when ctx ends. Only one goroutine calls it.
	sleepUntil(ctx context.Context, at time.Duration)
	close()
}

// systemClock is the clock of the system.
type systemClock struct {
	start time.Time
	timer sleepTimer
}

func newSystemClock() *systemClock { return &systemClock{time.Now(), newSleepTimer()} }

func (c *systemClock) now() time.Duration { return time.Since(c.start) }

// longestSleep bounds the time until sleepUntil sees that its context has ended.
const longestSleep = 50 * time.Millisecond

func (c *systemClock) sleepUntil(ctx context.Context, at time.Duration) {
	for left := at - c.now(); left > 0 && ctx.Err() == nil; left = at - c.now() {
		c.timer.sleep(min(left, longestSleep))
	}
}

func (c *systemClock) close() { c.timer.close() }

// Package redial holds the pause before a client dials a lost connection again.
package redial

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pause is the pause before the next attempt to connect: Min at first, and twice as long after each attempt, up to Max. Its methods do not
// overlap.
type Pause struct {
	Min, Max time.Duration
	next     time.Duration // 0 means Min
}

// Ended notes that a connection has ended. After a connection that was longer than the pause, the pause is Min again. One that was shorter
// counts as a failed attempt: a server that accepts connections and ends them at once is not dialed again and again.
func (p *Pause) Ended(lasted time.Duration) {
	if lasted > p.next {
		p.Reset()
	}
}

// Reset makes the next pause Min.
func (p *Pause) Reset() { p.next = 0 }

// Wait waits for the pause, less or more by up to a half at random, and doubles the next one. It returns early if early is ready or ctx ends.
func (p *Pause) Wait(ctx context.Context, early <-chan struct{}) {
	pause := max(p.next, p.Min)
	p.next = min(2*pause, p.Max)
	Wait(ctx, pause, early)
}

// Wait waits for pause, less or more by up to a half at random. It returns early if early is ready or ctx ends. Without a pause it returns at
// once.
func Wait(ctx context.Context, pause time.Duration, early <-chan struct{}) {
	if pause <= 0 {
		return
	}
	timer := time.NewTimer(pause/2 + rand.N(pause))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-early:
	case <-ctx.Done():
	}
}

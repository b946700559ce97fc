package route

import (
	"math"
	"sync/atomic"
	"time"
)

// Bucket is a token bucket in one word: the time at which it will be full again. Its method may be called by any number of
// goroutines at once, and none of them ever waits. A nil Bucket takes everything.
type Bucket struct {
	full     atomic.Int64 // ns on the caller's clock
	interval int64        // ns a token takes to come back
	slack    int64        // ns: how far beyond now full may lie for a token to be left
}

// newBucket makes a full bucket. rate is tokens in a second.
func newBucket(rate float64, burst int) *Bucket {
	b := &Bucket{interval: int64(math.Round(float64(time.Second) / rate))}
	b.slack = b.interval * int64(burst-1)
	b.full.Store(math.MinInt64)
	return b
}

// Allow takes a token, if there is one. now is the time since a moment that is always the same one; on a clock that goes
// back no tokens come back until it has caught up.
func (b *Bucket) Allow(now time.Duration) bool {
	if b == nil {
		return true
	}
	for {
		seen := b.full.Load()
		full := max(seen, int64(now))
		if full-int64(now) > b.slack {
			return false
		}
		if b.full.CompareAndSwap(seen, full+b.interval) {
			return true
		}
	}
}

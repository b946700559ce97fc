package route

import (
	"math"
	"sync/atomic"
	"time"
)

// Bucket is a token bucket. Its whole state is one word: the time at which the bucket will be full again. Any number
// of goroutines may call Allow at the same time, and Allow never waits. A nil Bucket allows every request.
type Bucket struct {
	fullAt   atomic.Int64 // ns on the caller's clock
	interval int64        // ns until one token is refilled
	slack    int64        // a token is available while fullAt is at most slack ns after now
}

// newBucket makes a full bucket. rate is in tokens per second.
func newBucket(rate float64, burst int) *Bucket {
	b := &Bucket{interval: int64(math.Round(float64(time.Second) / rate))}
	b.slack = b.interval * int64(burst-1)
	b.fullAt.Store(math.MinInt64)
	return b
}

// Allow removes a token and reports whether one was available. now is a monotonic time. If now goes back, no token is
// refilled until now has caught up.
func (b *Bucket) Allow(now time.Duration) bool {
	if b == nil {
		return true
	}
	for {
		seen := b.fullAt.Load()
		full := max(seen, int64(now))
		if full-int64(now) > b.slack {
			return false
		}
		if b.fullAt.CompareAndSwap(seen, full+b.interval) {
			return true
		}
	}
}

// Debt returns the time until the bucket is full again.
func (b *Bucket) Debt(now time.Duration) time.Duration {
	return max(time.Duration(b.fullAt.Load()), now) - now
}

// Owe takes as many tokens as debt is worth, at most all of them.
func (b *Bucket) Owe(now, debt time.Duration) {
	b.fullAt.Store(int64(now) + min(int64(debt), b.slack+b.interval))
}

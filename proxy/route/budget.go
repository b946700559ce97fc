package route

import (
	"sync/atomic"
	"time"
)

const budgetSlots = 10 // one for each second that counts

// Budget keeps retries in proportion to requests, so that a cluster which fails is not asked many times over. Its methods
// may be called by any number of goroutines at once, and none of them ever waits. A nil Budget allows no retry.
type Budget struct {
	ratio, least      float64 // retries for each request; retries in the whole window in any case
	requests, retries window
}

func newBudget(c RetryBudget) *Budget {
	b := &Budget{ratio: 0.2, least: 3 * budgetSlots}
	if c.Ratio != 0 {
		b.ratio = max(c.Ratio, 0)
	}
	if c.MinPerSecond != 0 {
		b.least = max(c.MinPerSecond, 0) * budgetSlots
	}
	return b
}

// Request counts a request, not its retries. now is the time since a moment that is always the same one, not negative.
func (b *Budget) Request(now time.Duration) {
	if b != nil {
		b.requests.add(second(now), 1)
	}
}

// Retry takes a retry out of the budget, if there is one left. It never allows more than there are; goroutines that ask at
// the same moment for the last one may all be refused.
func (b *Budget) Retry(now time.Duration) bool {
	if b == nil {
		return false
	}
	at := second(now)
	b.retries.add(at, 1) // first, so that nobody else takes the same one
	if float64(b.retries.sum(at)) <= b.least+b.ratio*float64(b.requests.sum(at)) {
		return true
	}
	b.retries.add(at, -1)
	return false
}

func second(now time.Duration) uint32 { return uint32(now / time.Second) }

// window counts what happened in each of the last seconds. A slot is a second in its high half and the count in the low one.
type window [budgetSlots]atomic.Uint64

func (w *window) add(at uint32, n int32) {
	slot := &w[at%budgetSlots]
	for {
		old := slot.Load()
		count := int64(uint32(old))
		if uint32(old>>32) != at {
			count = 0
		}
		count = min(max(count+int64(n), 0), 1<<32-1)
		if slot.CompareAndSwap(old, uint64(at)<<32|uint64(count)) {
			return
		}
	}
}

func (w *window) sum(at uint32) (n int64) {
	for i := range w {
		slot := w[i].Load()
		if age := at - uint32(slot>>32); age < budgetSlots {
			n += int64(uint32(slot))
		}
	}
	return n
}

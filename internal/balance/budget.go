package balance

import (
	"math"
	"sync/atomic"
	"time"

	"example.com/ferry/internal/invalid"
)

const budgetSlots = 10 // length of the window in seconds; each second has one slot

// RetryBudget bounds the retries of the last 10 s: Ratio times the requests, plus MinPerSecond for each second.
type RetryBudget struct {
	// Ratio is the number of retries allowed per request: up to 10. Zero means 0.2; negative means 0.
	Ratio float64 `yaml:"ratio,omitempty"`

	// MinPerSecond is the number of retries per second that are allowed in addition: up to 1000000. Zero means 3;
	// negative means 0.
	MinPerSecond float64 `yaml:"min_per_second,omitempty"`
}

// Check adds the errors in c to errs, as errors of package pkg in the field at.
func (c RetryBudget) Check(pkg, at string, errs *invalid.Errors) {
	if math.IsNaN(c.Ratio) || c.Ratio > 10 {
		errs.Add(pkg, at+".ratio", "%v: write up to 10", c.Ratio)
	}
	if math.IsNaN(c.MinPerSecond) || c.MinPerSecond > 1e6 {
		errs.Add(pkg, at+".min_per_second", "%v: write up to 1000000", c.MinPerSecond)
	}
}

// Budget limits retries to a fraction of the requests, so that retries do not overload endpoints that fail. Any number
// of goroutines may call its methods at the same time, and the methods never wait. A nil Budget allows no retry.
type Budget struct {
	ratio, minimum    float64 // retries per request; retries that are always allowed in a window
	requests, retries secondsWindow
}

// NewBudget creates a budget. The caller has checked c.
func NewBudget(c RetryBudget) *Budget {
	b := &Budget{ratio: 0.2, minimum: 3 * budgetSlots}
	if c.Ratio != 0 {
		b.ratio = max(c.Ratio, 0)
	}
	if c.MinPerSecond != 0 {
		b.minimum = max(c.MinPerSecond, 0) * budgetSlots
	}
	return b
}

// Request counts a request. Retries of the request are not counted. now is a monotonic time and not negative.
func (b *Budget) Request(now time.Duration) {
	if b != nil {
		b.requests.add(second(now), 1)
	}
}

// Retry removes one retry from the budget and reports whether one was left. If several goroutines compete for the
// last retry, all of them may be refused.
func (b *Budget) Retry(now time.Duration) bool { return b.RetryWithin(1, now) }

// RetryWithin is Retry with a share of the budget, from 0 to 1, and at least one retry if the budget has it: what is above the share is
// left to retries that matter more.
func (b *Budget) RetryWithin(share float64, now time.Duration) bool {
	if b == nil {
		return false
	}
	at := second(now)
	b.retries.add(at, 1) // count first, so that two goroutines cannot both take the last one
	all := b.minimum + b.ratio*float64(b.requests.sum(at))
	if float64(b.retries.sum(at)) <= max(share*all, min(all, 1)) {
		return true
	}
	b.retries.add(at, -1)
	return false
}

func second(now time.Duration) uint32 { return uint32(now / time.Second) }

// secondsWindow counts events in each of the last seconds. The high half of a slot is the second; the low half is the
// count.
type secondsWindow [budgetSlots]atomic.Uint64

func (w *secondsWindow) add(at uint32, n int32) {
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

func (w *secondsWindow) sum(at uint32) (n int64) {
	for i := range w {
		slot := w[i].Load()
		if age := at - uint32(slot>>32); age < budgetSlots {
			n += int64(uint32(slot))
		}
	}
	return n
}

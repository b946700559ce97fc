package cpu

import (
	"math/bits"
	"time"
)

// waitTimes holds histograms of how long jobs waited for their first token, over the last ten to twenty seconds.
type waitTimes struct {
	current, before histogram
	since           time.Duration // start of current
}

// window is the time that one histogram covers.
const window = 10 * time.Second

func (w *waitTimes) add(now, d time.Duration) {
	w.rotate(now)
	w.current.counts[bucket(d)]++
	w.current.total++
}

// rotate begins a new histogram once the current one has covered its window.
func (w *waitTimes) rotate(now time.Duration) {
	switch old := now - w.since; {
	case old >= 2*window:
		w.before, w.current, w.since = histogram{}, histogram{}, now
	case old >= window:
		w.before, w.current, w.since = w.current, histogram{}, now
	}
}

// quantile returns a wait that the share q of the jobs did not exceed. The result is at most an eighth too long. It is 0
// without jobs.
func (w *waitTimes) quantile(q float64) time.Duration {
	rank := uint64(q * float64(w.current.total+w.before.total))
	var seen uint64
	for i := range w.current.counts {
		if seen += w.current.counts[i] + w.before.counts[i]; seen > rank {
			return bucketEnd(i)
		}
	}
	return 0
}

// histogram counts durations in buckets: eight buckets for each doubling.
type histogram struct {
	counts [61 * 8]uint64
	total  uint64
}

func bucket(d time.Duration) int {
	if d < 8 {
		return int(d)
	}
	shift := bits.Len64(uint64(d)) - 4
	return shift*8 + int(d>>shift)
}

// bucketEnd returns the longest duration in bucket i.
func bucketEnd(i int) time.Duration {
	if i < 16 {
		return time.Duration(i)
	}
	shift := i/8 - 1
	return time.Duration(i-shift*8+1)<<shift - 1
}

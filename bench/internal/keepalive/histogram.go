package keepalive

import (
	"math/bits"
	"time"
)

// Histogram counts durations in buckets, with a relative error below 1/64. The zero value is empty.
type Histogram struct {
	Counts []int         // number of durations in each bucket
	N      int           // number of all durations
	Sum    time.Duration // sum of all durations
}

const fine = 7 // leading bits of a duration that select its bucket

// bucket returns the index of the bucket of d. A small d is its own index. For a larger d, the index combines the leading bits
// of d and the number of bits after them.
func bucket(d time.Duration) int {
	v := uint64(max(d, 0))
	shift := max(bits.Len64(v)-fine, 0)
	return shift<<(fine-1) + int(v>>shift)
}

// middle returns the duration in the middle of a bucket.
func middle(bucket int) time.Duration {
	const half = 1 << (fine - 1)
	if bucket < 2*half {
		return time.Duration(bucket)
	}
	shift := bucket/half - 1
	return time.Duration((2*(bucket%half+half) + 1) << shift / 2)
}

// Add adds d to the histogram.
func (h *Histogram) Add(d time.Duration) {
	b := bucket(d)
	for len(h.Counts) <= b {
		h.Counts = append(h.Counts, 0)
	}
	h.Counts[b]++
	h.N++
	h.Sum += d
}

// Merge adds the durations of other.
func (h *Histogram) Merge(other Histogram) {
	for len(h.Counts) < len(other.Counts) {
		h.Counts = append(h.Counts, 0)
	}
	for b, n := range other.Counts {
		h.Counts[b] += n
	}
	h.N += other.N
	h.Sum += other.Sum
}

// Mean is the mean; 0 if nothing was counted.
func (h *Histogram) Mean() time.Duration { return h.Sum / time.Duration(max(h.N, 1)) }

// Quantile returns the q-quantile, with q between 0 and 1: 0.99 is the 99th percentile. It returns 0 for an empty histogram.
func (h *Histogram) Quantile(q float64) time.Duration {
	left := min(int(q*float64(h.N)), h.N-1)
	for b, n := range h.Counts {
		if left -= n; left < 0 {
			return middle(b)
		}
	}
	return 0
}

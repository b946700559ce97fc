package keepalive

import (
	"math/bits"
	"time"
)

// Histogram counts durations, each to within a 64th. The zero value is empty.
type Histogram struct {
	Counts []int         // by bucket
	N      int           // durations
	Sum    time.Duration // of all
}

const fine = 7 // leading bits of a duration that select its bucket

// bucket is the number of the bucket of d: itself as long as it has few bits, then the leading ones and how many follow.
func bucket(d time.Duration) int {
	v := uint64(max(d, 0))
	shift := max(bits.Len64(v)-fine, 0)
	return shift<<(fine-1) + int(v>>shift)
}

// middle is the middle of a bucket.
func middle(bucket int) time.Duration {
	const half = 1 << (fine - 1)
	if bucket < 2*half {
		return time.Duration(bucket)
	}
	shift := bucket/half - 1
	return time.Duration((2*(bucket%half+half) + 1) << shift / 2)
}

// Add counts d.
func (h *Histogram) Add(d time.Duration) {
	b := bucket(d)
	for len(h.Counts) <= b {
		h.Counts = append(h.Counts, 0)
	}
	h.Counts[b]++
	h.N++
	h.Sum += d
}

// Merge adds what other has counted.
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

// Quantile is the time that a share q of all did not exceed; 0 if nothing was counted.
func (h *Histogram) Quantile(q float64) time.Duration {
	left := min(int(q*float64(h.N)), h.N-1)
	for b, n := range h.Counts {
		if left -= n; left < 0 {
			return middle(b)
		}
	}
	return 0
}

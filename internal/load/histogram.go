package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// longest is the largest duration of a Histogram. Longer ones count as longest.
const longest = time.Hour

// Histogram is a distribution of durations, from 1 ns to 1 h with a relative error below 0.1 %. It takes 260 KiB.
type Histogram struct {
	hdr *hdrhistogram.Histogram
	max time.Duration // exact
	min time.Duration // exact
	sum time.Duration
}

// NewHistogram returns an empty Histogram.
func NewHistogram() *Histogram {
	return &Histogram{hdr: hdrhistogram.New(1, longest.Nanoseconds(), 3)}
}

// Add adds d. A negative d counts as 0.
func (h *Histogram) Add(d time.Duration) {
	d = min(max(d, 0), longest)
	if h.Count() == 0 || d < h.min {
		h.min = d
	}
	h.max = max(h.max, d)
	h.sum += d
	_ = h.hdr.RecordValue(d.Nanoseconds()) // its only error is a value above longest
}

// Merge adds the durations of other.
func (h *Histogram) Merge(other *Histogram) {
	if other.Count() == 0 {
		return
	}
	if h.Count() == 0 || other.min < h.min {
		h.min = other.min
	}
	h.max = max(h.max, other.max)
	h.sum += other.sum
	h.hdr.Merge(other.hdr)
}

// Count is the number of durations.
func (h *Histogram) Count() int { return int(h.hdr.TotalCount()) }

// Min is the smallest duration; 0 if there is none.
func (h *Histogram) Min() time.Duration { return h.min }

// Max is the largest duration; 0 if there is none.
func (h *Histogram) Max() time.Duration { return h.max }

// Mean is the mean; 0 if there is no duration.
func (h *Histogram) Mean() time.Duration { return h.sum / time.Duration(max(h.Count(), 1)) }

// Quantile returns the q-quantile, with q between 0 and 1: 0.99 is the 99th percentile. It returns 0 for an empty histogram.
func (h *Histogram) Quantile(q float64) time.Duration {
	return min(max(time.Duration(h.hdr.ValueAtQuantile(q*100)), h.min), h.max)
}

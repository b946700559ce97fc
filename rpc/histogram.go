package rpc

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// A bucket is a quarter of a power of two wide, so a quantile is at most 25 % too long. The first bucket ends at 2^10 ns, the last
// one at 2^38 ns (275 s).
const (
	firstBits  = 10
	bucketBits = 2 // each power of two has 1<<bucketBits buckets
	buckets    = 28<<bucketBits + 1
)

// Histogram is the distribution of the durations of calls.
type Histogram struct {
	Buckets []Bucket // ordered by UpTo; those before the first call and after the last are left out
	Count   uint64   // number of calls
	Sum     time.Duration
}

// Bucket counts the calls that took more than the previous bucket's UpTo and at most UpTo. The last bucket holds all longer calls, too.
type Bucket struct {
	UpTo  time.Duration
	Count uint64
}

// Quantile returns the upper bound of the bucket that holds the quantile q, such as 0.99, or 0 without calls.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank, seen := uint64(q*float64(h.Count)), uint64(0)
	for _, b := range h.Buckets {
		if seen += b.Count; seen > rank || seen == h.Count {
			return b.UpTo
		}
	}
	return 0
}

// histogram is a Histogram that is being counted.
type histogram struct {
	counts [buckets]atomic.Uint64
	sum    atomic.Int64 // ns; overflows after 292 years of calls
}

// bucketOf returns the first bucket whose end is at least took. The highest bit of took-1 selects the power of two, and the bits
// after it the quarter.
func bucketOf(took time.Duration) int {
	n := uint64(max(took, 1) - 1)
	power := bits.Len64(n) - 1 - firstBits
	if power < 0 {
		return 0
	}
	quarter := int(n>>(power+firstBits-bucketBits)) & (1<<bucketBits - 1)
	return min(power<<bucketBits+quarter+1, buckets-1)
}

// bucketEnd returns the longest duration of a bucket.
func bucketEnd(i int) time.Duration {
	if i == 0 {
		return 1 << firstBits
	}
	power, quarter := (i-1)>>bucketBits, (i-1)&(1<<bucketBits-1)
	return time.Duration(1<<bucketBits+quarter+1) << (power + firstBits - bucketBits)
}

func (h *histogram) add(took time.Duration) {
	h.counts[bucketOf(took)].Add(1)
	h.sum.Add(int64(took))
}

func (h *histogram) snapshot() Histogram {
	s := Histogram{Sum: time.Duration(h.sum.Load())}
	for i := range h.counts {
		n := h.counts[i].Load()
		if n == 0 && s.Buckets == nil {
			continue
		}
		s.Buckets = append(s.Buckets, Bucket{bucketEnd(i), n})
		s.Count += n
	}
	for n := len(s.Buckets); n > 0 && s.Buckets[n-1].Count == 0; n-- {
		s.Buckets = s.Buckets[:n-1]
	}
	return s
}

package traffic

import (
	"math/bits"
	"time"
)

// Histogram is the distribution of request durations.
type Histogram struct {
	Buckets []Bucket // ordered by UpTo
	Count   uint64   // number of all requests, including those that took longer than the last bucket's UpTo
	Seconds float64  // sum of the durations in seconds
}

// Bucket counts the requests that took at most UpTo. The requests of earlier buckets are included.
type Bucket struct {
	UpTo  time.Duration
	Count uint64
}

// bounds are the upper bounds of the buckets. Each bound is at least twice the previous bound, which firstBound
// relies on.
var bounds = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second,
	10 * time.Second, 30 * time.Second, time.Minute,
}

// durationCounts is a histogram that is being filled.
type durationCounts struct {
	hours     uint64
	remainder time.Duration           // sum of the durations below a full hour; a sum in ns alone would overflow after a day of 100,000 requests in flight
	counts    [len(bounds) + 1]uint64 // indexed by bucket; the last element counts durations above all bounds
}

// firstBound maps the bit length of a duration to an index of bounds: the first bound that is not below the shortest
// duration of that bit length. Because each bound is at least twice the previous bound, at most one bound lies among
// the durations of one bit length. A duration above that bound belongs to the next bucket.
var firstBound = func() (first [65]uint8) {
	for length := 1; length < len(first); length++ {
		shortest := uint64(1) << (length - 1)
		i := 0
		for i < len(bounds) && uint64(bounds[i]) < shortest {
			i++
		}
		first[length] = uint8(i)
	}
	return first
}()

// bucket returns the index of the first bound that is at least took, or len(bounds).
func bucket(took time.Duration) int {
	i := int(firstBound[bits.Len64(uint64(took))])
	if i < len(bounds) && took > bounds[i] {
		i++
	}
	return i
}

// add counts one duration. A negative duration counts as zero.
func (s *durationCounts) add(took time.Duration) {
	took = max(took, 0)
	s.counts[bucket(took)]++
	s.addToSum(took)
}

// addToSum adds took to the sum and moves full hours from remainder to hours.
func (s *durationCounts) addToSum(took time.Duration) {
	if s.remainder += took; uint64(s.remainder) >= uint64(time.Hour) {
		s.hours += uint64(s.remainder) / uint64(time.Hour)
		s.remainder = time.Duration(uint64(s.remainder) % uint64(time.Hour))
	}
}

// merge adds the counts of o.
func (s *durationCounts) merge(o *durationCounts) {
	for i, n := range o.counts {
		s.counts[i] += n
	}
	s.hours += o.hours
	s.addToSum(o.remainder)
}

func (s *durationCounts) histogram() Histogram {
	h := Histogram{
		Buckets: make([]Bucket, len(bounds)),
		Seconds: float64(s.hours)*time.Hour.Seconds() + s.remainder.Seconds(),
	}
	for i, upTo := range bounds {
		h.Count += s.counts[i]
		h.Buckets[i] = Bucket{upTo, h.Count}
	}
	h.Count += s.counts[len(bounds)]
	return h
}

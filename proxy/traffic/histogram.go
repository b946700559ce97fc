package traffic

import (
	"math/bits"
	"time"
)

// Histogram is the distribution of request durations.
type Histogram struct {
	Buckets []Bucket // by UpTo
	Count   uint64   // all requests, also those longer than the last bucket's UpTo
	Seconds float64  // the sum of the durations
}

// Bucket counts the requests that took at most UpTo. It includes the counts of the buckets before it.
type Bucket struct {
	UpTo  time.Duration
	Count uint64
}

// bounds are the upper bounds of the buckets. Each is at least twice the one before; firstBound depends on that.
var bounds = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second,
	10 * time.Second, 30 * time.Second, time.Minute,
}

// durationCounts is a histogram under construction.
type durationCounts struct {
	counts    [len(bounds) + 1]uint64 // by bucket; the last one counts durations above all bounds
	hours     uint64
	remainder time.Duration // of the sum, below an hour: one int64 of nanoseconds overflows after a day of 100,000 requests in flight
}

// firstBound maps the bit length of a duration to the first bound that is not below the shortest duration of that length. As
// bounds at least double, at most one bound lies among the durations of one bit length: a longer one belongs to the next bucket.
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

// bucket returns the index of the first bound that is not below took, or len(bounds).
func bucket(took time.Duration) int {
	i := int(firstBound[bits.Len64(uint64(took))])
	if i < len(bounds) && took > bounds[i] {
		i++
	}
	return i
}

// add counts one duration. A negative one counts as zero.
func (s *durationCounts) add(took time.Duration) {
	took = max(took, 0)
	s.counts[bucket(took)]++
	s.addToSum(took)
}

// addToSum adds d to the sum and carries full hours.
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

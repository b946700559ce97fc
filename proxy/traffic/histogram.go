package traffic

import (
	"math/bits"
	"time"
)

// Histogram is how long requests took.
type Histogram struct {
	Buckets []Bucket // by UpTo
	Count   uint64   // of all requests, those beyond the last bucket included
	Seconds float64  // what they took together
}

// Bucket counts the requests that took at most UpTo: each bucket has those of the one before as well.
type Bucket struct {
	UpTo  time.Duration
	Count uint64
}

// bounds are the buckets' limits. Each is at least twice the one before: nearest counts on that.
var bounds = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second,
	10 * time.Second, 30 * time.Second, time.Minute,
}

// spread counts durations.
type spread struct {
	counts [len(bounds) + 1]uint64 // by the first bound that is not below; the last is beyond all
	hours  uint64
	rest   time.Duration // of the sum: an int64 of nanoseconds would overflow after a day of 100,000 requests in flight
}

// nearest is, for durations of so many bits, the first bound that is not below the shortest of them. Of bounds that double at
// least, one lies among durations of the same length at most: what took longer than that belongs to the next bucket.
var nearest = func() (first [65]uint8) {
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
	i := int(nearest[bits.Len64(uint64(took))])
	if i < len(bounds) && took > bounds[i] {
		i++
	}
	return i
}

// add counts one duration. A negative one counts as none at all.
func (s *spread) add(took time.Duration) {
	took = max(took, 0)
	s.counts[bucket(took)]++
	s.extend(took)
}

// extend adds to the sum.
func (s *spread) extend(took time.Duration) {
	if s.rest += took; uint64(s.rest) >= uint64(time.Hour) {
		s.hours += uint64(s.rest) / uint64(time.Hour)
		s.rest = time.Duration(uint64(s.rest) % uint64(time.Hour))
	}
}

// join adds what o has counted.
func (s *spread) join(o *spread) {
	for i, n := range o.counts {
		s.counts[i] += n
	}
	s.hours += o.hours
	s.extend(o.rest)
}

func (s *spread) histogram() Histogram {
	h := Histogram{
		Buckets: make([]Bucket, len(bounds)),
		Seconds: float64(s.hours)*time.Hour.Seconds() + s.rest.Seconds(),
	}
	for i, upTo := range bounds {
		h.Count += s.counts[i]
		h.Buckets[i] = Bucket{upTo, h.Count}
	}
	h.Count += s.counts[len(bounds)]
	return h
}

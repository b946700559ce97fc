package rpc

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestBuckets: each duration is in the bucket whose end is the first one that is not shorter.
func TestBuckets(t *testing.T) {
	t.Parallel()
	check := func(d time.Duration) {
		t.Helper()
		i := bucketOf(d)
		if i < buckets-1 && bucketEnd(i) < d || i > 0 && d <= bucketEnd(i-1) {
			t.Errorf("%v is in bucket %d, which ends at %v", d, i, bucketEnd(i))
		}
	}
	for i := range buckets {
		for _, d := range []time.Duration{bucketEnd(i) - 1, bucketEnd(i), bucketEnd(i) + 1} {
			check(d)
		}
		if i > 1 && float64(bucketEnd(i)) > 1.26*float64(bucketEnd(i-1)) {
			t.Errorf("bucket %d ends at %v, and the one before at %v", i, bucketEnd(i), bucketEnd(i-1))
		}
	}
	for range 10000 {
		check(time.Duration(rand.Uint64() >> (1 + rand.N(62))))
	}
	if bucketOf(-time.Second) != 0 || bucketOf(0) != 0 {
		t.Error("a duration of 0 or less is not in the first bucket")
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	var h histogram
	if empty := h.snapshot(); empty.Quantile(0.5) != 0 || empty.Buckets != nil {
		t.Errorf("without calls: %+v", empty)
	}
	for i := range 1000 {
		h.add(time.Duration(i+1) * time.Millisecond)
	}
	s := h.snapshot()
	for q, want := range map[float64]time.Duration{0.5: 500 * time.Millisecond, 0.95: 950 * time.Millisecond, 0.99: 990 * time.Millisecond, 1: time.Second} {
		if got := s.Quantile(q); got < want || got > want*5/4 {
			t.Errorf("quantile %v is %v, want %v to a quarter more", q, got, want)
		}
	}
	if want := 500500 * time.Millisecond; s.Count != 1000 || s.Sum != want {
		t.Errorf("got %d calls and %v, want 1000 and %v", s.Count, s.Sum, want)
	}
}

// TestRecentLatency: the quantile needs 100 latencies, and forgets those of more than 20 s ago.
func TestRecentLatency(t *testing.T) {
	t.Parallel()
	var r recentLatency
	now := time.Duration(0)
	add := func(n int, took time.Duration) {
		for range n {
			now += time.Millisecond
			r.add(took, now, 0.5)
		}
	}
	add(99, time.Second)
	if r.quantile() != 0 {
		t.Errorf("after 99 latencies: %v, want 0", r.quantile())
	}
	add(1, time.Second)
	if q := r.quantile(); q < time.Second || q > 5*time.Second/4 {
		t.Errorf("after 100 latencies of 1 s: %v", q)
	}
	now += 15 * time.Second
	add(90, time.Millisecond)
	if q := r.quantile(); q < time.Second {
		t.Errorf("the last period is forgotten too early: %v", q)
	}
	now += 30 * time.Second
	add(100, time.Millisecond)
	if q := r.quantile(); q == 0 || q > 2*time.Millisecond {
		t.Errorf("after 45 s: %v, want 1 ms", q)
	}
}

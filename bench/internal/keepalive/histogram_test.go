package keepalive

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestBuckets(t *testing.T) {
	last := -1
	for d := time.Duration(0); d < 100_000; d++ {
		b := bucket(d)
		if b != last && b != last+1 {
			t.Fatalf("%d is in bucket %d, %d in %d", d, b, d-1, last)
		}
		last = b
	}
	for _, d := range []time.Duration{0, 1, 127, 128, 129, 5 * time.Microsecond, time.Millisecond, time.Second, time.Hour} {
		if off := (middle(bucket(d)) - d).Abs(); off > d/64 {
			t.Errorf("%v is counted as %v", d, middle(bucket(d)))
		}
	}
	if bucket(-1) != 0 {
		t.Errorf("-1 ns is in bucket %d", bucket(-1))
	}
}

func TestHistogram(t *testing.T) {
	var h, other Histogram
	if h.Mean() != 0 || h.Quantile(0.5) != 0 {
		t.Errorf("an empty histogram has mean %v and median %v", h.Mean(), h.Quantile(0.5))
	}
	for _, i := range rand.Perm(1000) {
		add := &h
		if i%3 == 0 {
			add = &other
		}
		add.Add(time.Duration(i+1) * time.Microsecond)
	}
	h.Merge(other)
	if h.N != 1000 || h.Mean() != 500500*time.Nanosecond {
		t.Errorf("%d durations with mean %v, want 1000 with 500.5us", h.N, h.Mean())
	}
	for _, row := range []struct {
		q    float64
		want time.Duration
	}{{0, 1000}, {0.5, 501_000}, {0.99, 991_000}, {1, 1_000_000}} {
		if got := h.Quantile(row.q); (got - row.want).Abs() > row.want/64 {
			t.Errorf("quantile %v: got %v, want %v", row.q, got, row.want)
		}
	}
}

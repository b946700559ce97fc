package route_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/proxy/route"
)

func bucket(t *testing.T, rate float64, burst int) *route.Bucket {
	t.Helper()
	rule := to("it", route.Match{})
	rule.RateLimit = &route.RateLimit{RequestsPerSecond: rate, Burst: burst}
	return table(t, host(rule)).Routes()[0].Bucket
}

// TestBucket sends requests at random times. In each interval, the bucket must not allow more requests than the burst
// plus the refilled tokens. It must not refuse a request while a token is left.
func TestBucket(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		rate, burst := float64(1+r.IntN(1000)), 1+r.IntN(50)
		interval := time.Duration(float64(time.Second)/rate + 0.5)
		b := bucket(t, rate, burst)
		now := time.Duration(r.IntN(1000)) * time.Second
		tokens, last := time.Duration(burst)*interval, now // model of the bucket, with tokens measured in time
		var passed []time.Duration
		for range 400 {
			now += time.Duration(r.ExpFloat64() * float64(interval) * 0.7)
			tokens, last = min(tokens+now-last, time.Duration(burst)*interval), now
			want := tokens >= interval
			if got := b.Allow(now); got != want {
				t.Fatalf("%v/s, burst %d, at %v: got %v, want %v with %v left", rate, burst, now, got, want, tokens)
			}
			if want {
				tokens -= interval
				passed = append(passed, now)
			}
		}
		for i, from := range passed {
			if n := len(passed) - i; time.Duration(n-burst)*interval > now-from {
				t.Fatalf("%v/s, burst %d: %d passed in %v", rate, burst, n, now-from)
			}
		}
	}
}

func TestBucketShared(t *testing.T) {
	t.Parallel()
	b := bucket(t, 0.001, 1000)
	var passed atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 500 {
				if b.Allow(time.Second) {
					passed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if got := passed.Load(); got != 1000 {
		t.Errorf("%d of 2000 passed a burst of 1000", got)
	}
	if n := (*route.Bucket)(nil); !n.Allow(0) {
		t.Error("no limit refuses a request")
	}
}

func TestBucketDefaultBurst(t *testing.T) {
	t.Parallel()
	for rate, want := range map[float64]int{0.5: 1, 1: 1, 20.5: 20} {
		b, got := bucket(t, rate, 0), 0
		for b.Allow(0) {
			got++
		}
		if got != want {
			t.Errorf("%v/s: a burst of %d, want %d", rate, got, want)
		}
	}
}

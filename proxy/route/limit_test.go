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

func budget(t *testing.T, c route.RetryBudget) *route.Budget {
	t.Helper()
	rule := to("it", route.Match{})
	rule.Forward.Retry = &route.Retry{On: []route.Cause{route.On5xx}, Budget: c}
	return table(t, host(rule)).Routes()[0].Budget
}

// TestBudget sends random requests and retries for half an hour of simulated time. It compares the budget with a
// count of the last ten seconds.
func TestBudget(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	b := budget(t, route.RetryBudget{Ratio: 0.3, MinPerSecond: 0.5})
	const seconds = 1800
	var requests, retries [seconds + 10]int
	allowed, refused := 0, 0
	for now := time.Duration(0); now < seconds*time.Second; now += time.Duration(r.ExpFloat64() * float64(200*time.Millisecond)) {
		at := int(now / time.Second)
		if r.IntN(2) == 0 {
			b.Request(now)
			requests[at]++
			continue
		}
		count := func(of [seconds + 10]int) (n int) {
			for _, one := range of[max(0, at-9) : at+1] {
				n += one
			}
			return n
		}
		want := float64(count(retries)+1) <= 5+0.3*float64(count(requests))
		if got := b.Retry(now); got != want {
			t.Fatalf("at %v: got %v, want %v after %d retries and %d requests", now, got, want, count(retries), count(requests))
		}
		if want {
			retries[at]++
			allowed++
		} else {
			refused++
		}
	}
	if allowed < 100 || refused < 100 {
		t.Errorf("%d allowed, %d refused: too few of one kind", allowed, refused)
	}
}

func TestBudgetLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		budget   route.RetryBudget
		requests int
		want     int
	}{
		{"defaults, idle", route.RetryBudget{}, 0, 30},
		{"defaults, busy", route.RetryBudget{}, 1000, 230},
		{"ratio only", route.RetryBudget{Ratio: 0.5, MinPerSecond: -1}, 100, 50},
		{"minimum only", route.RetryBudget{Ratio: -1, MinPerSecond: 2}, 100, 20},
		{"none", route.RetryBudget{Ratio: -1, MinPerSecond: -1}, 100, 0},
	} {
		b, got := budget(t, c.budget), 0
		for range c.requests {
			b.Request(time.Hour)
		}
		for b.Retry(time.Hour + 9*time.Second) {
			got++
		}
		if got != c.want {
			t.Errorf("%s: %d retries, want %d", c.name, got, c.want)
		}
	}
	var none *route.Budget
	if none.Request(0); none.Retry(0) {
		t.Error("no budget allows a retry")
	}
}

// TestBudgetShared checks that several goroutines together never get more retries than the budget allows.
func TestBudgetShared(t *testing.T) {
	t.Parallel()
	b := budget(t, route.RetryBudget{Ratio: -1, MinPerSecond: 10})
	var allowed atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				if b.Retry(time.Second) {
					allowed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if got := allowed.Load(); got < 90 || got > 100 {
		t.Errorf("%d retries of 100", got)
	}
}

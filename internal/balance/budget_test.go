package balance_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/internal/balance"
)

// TestBudget sends random requests and retries for half an hour of simulated time. It compares the budget with a
// count of the last ten seconds.
func TestBudget(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	b := balance.NewBudget(balance.RetryBudget{Ratio: 0.3, MinPerSecond: 0.5})
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
		budget   balance.RetryBudget
		requests int
		want     int
	}{
		{"defaults, idle", balance.RetryBudget{}, 0, 30},
		{"defaults, busy", balance.RetryBudget{}, 1000, 230},
		{"ratio only", balance.RetryBudget{Ratio: 0.5, MinPerSecond: -1}, 100, 50},
		{"minimum only", balance.RetryBudget{Ratio: -1, MinPerSecond: 2}, 100, 20},
		{"none", balance.RetryBudget{Ratio: -1, MinPerSecond: -1}, 100, 0},
	} {
		b, got := balance.NewBudget(c.budget), 0
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
	var none *balance.Budget
	if none.Request(0); none.Retry(0) {
		t.Error("no budget allows a retry")
	}
}

// TestBudgetShared checks that several goroutines together never get more retries than the budget allows.
func TestBudgetShared(t *testing.T) {
	t.Parallel()
	b := balance.NewBudget(balance.RetryBudget{Ratio: -1, MinPerSecond: 10})
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

// TestRetryWithin: a share of the budget is left to others, but one retry that the budget has is allowed.
func TestRetryWithin(t *testing.T) {
	t.Parallel()
	count := func(requests int, try func(b *balance.Budget) bool) (n int) {
		b := balance.NewBudget(balance.RetryBudget{Ratio: 0.05, MinPerSecond: -1})
		for range requests {
			b.Request(0)
		}
		for try(b) {
			n++
		}
		return n
	}
	within := func(b *balance.Budget) bool { return b.RetryWithin(0.8, 0) }
	for requests, want := range map[int]int{1000: 40, 20: 1, 10: 0} {
		if got := count(requests, within); got != want {
			t.Errorf("%d requests: %d retries within the share, want %d", requests, got, want)
		}
	}
	if got := count(1000, func(b *balance.Budget) bool { return within(b) || b.Retry(0) }); got != 50 {
		t.Errorf("%d retries in all, want 50", got)
	}
}

package balance_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"example.com/ferry/internal/balance"
)

func TestPickAllocates(t *testing.T) {
	for _, p := range all {
		s := weighted(balance.Config{Policy: p, Outlier: &balance.Outlier{Failures: 1000}}, 1, 2, 3)
		now := time.Duration(0)
		if n := testing.AllocsPerRun(100, func() {
			e := pick(t, s, rand.Uint64(), now, nil)
			now += time.Millisecond
			e.Done(balance.Outcome(now/time.Millisecond%2), balance.OwnRequest, time.Millisecond, now)
		}); n != 0 {
			t.Errorf("%s: %v allocations", p, n)
		}
	}
}

// BenchmarkPick measures Pick and Done at 100,000 requests per second.
func BenchmarkPick(b *testing.B) {
	for _, p := range all {
		b.Run(fmt.Sprint(p), func(b *testing.B) {
			s := several(3, balance.Config{Policy: p, Outlier: &balance.Outlier{}})
			random, now := rand.New(rand.NewPCG(1, 2)), time.Duration(0)
			b.ReportAllocs()
			for b.Loop() {
				e := pick(b, s, random.Uint64(), now, nil)
				now += 10 * time.Microsecond
				e.Done(balance.Success, balance.OwnRequest, time.Millisecond, now)
			}
		})
	}
}

package traffic

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestBucket(t *testing.T) {
	t.Parallel()
	slow := func(took time.Duration) int {
		for i, bound := range bounds {
			if took <= bound {
				return i
			}
		}
		return len(bounds)
	}
	check := func(took time.Duration) {
		if got, want := bucket(took), slow(took); got != want {
			t.Errorf("%v is in bucket %d, want %d", took, got, want)
		}
	}
	for _, bound := range bounds {
		for d := range time.Duration(3) {
			check(bound + d - 1)
		}
	}
	check(0)
	check(math.MaxInt64)
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		check(time.Duration(random.Uint64() >> (1 + random.IntN(63))))
	}
}

func TestBoundsDouble(t *testing.T) {
	t.Parallel()
	if bounds[0] != 100*time.Microsecond || bounds[len(bounds)-1] != time.Minute {
		t.Errorf("bounds go from %v to %v, want 100us to 1m", bounds[0], bounds[len(bounds)-1])
	}
	for i := 1; i < len(bounds); i++ {
		if bounds[i] < 2*bounds[i-1] {
			t.Errorf("%v comes after %v: bucket wants twice that or more", bounds[i], bounds[i-1])
		}
	}
}

func TestSum(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		times int
		took  time.Duration
		want  float64
	}{
		{"nothing", 0, 0, 0},
		{"a nanosecond", 3, 1, 3e-9},
		{"below zero", 2, -time.Second, 0},
		{"carried", 7201, time.Second, 7201},
		{"an hour and a bit", 5, time.Hour + time.Millisecond, 18000.005},
		{"longer than an int64 has room for", 1000, math.MaxInt64, 1000 * math.MaxInt64 / 1e9},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var perLoop [2]durationCounts
			for i := range c.times {
				perLoop[i%2].add(c.took)
			}
			perLoop[0].merge(&perLoop[1])
			h := perLoop[0].histogram()
			if h.Count != uint64(c.times) || math.Abs(h.Seconds-c.want) > 1e-9*max(1, c.want*1e-3) {
				t.Errorf("%d took %v s, want %d, %v s", h.Count, h.Seconds, c.times, c.want)
			}
		})
	}
}

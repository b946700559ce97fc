package load

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestHistogram compares quantiles with those of the sorted durations.
func TestHistogram(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, row := range []struct {
		name string
		draw func() time.Duration
	}{
		{"uniform", func() time.Duration { return time.Duration(random.IntN(5_000_000)) }},
		{"exponential", func() time.Duration { return time.Duration(random.ExpFloat64() * 1e6) }},
		{"long tail", func() time.Duration { return time.Duration(1e4 * math.Exp(3*random.NormFloat64())) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			const n = 100_000
			parts := []*Histogram{NewHistogram(), NewHistogram(), NewHistogram()}
			all := make([]time.Duration, n)
			var sum time.Duration
			for i := range all {
				all[i] = min(row.draw(), longest)
				sum += all[i]
				parts[i%3].Add(all[i])
			}
			h := NewHistogram()
			for _, p := range parts {
				h.Merge(p)
			}
			h.Merge(NewHistogram())
			slices.Sort(all)
			if h.Count() != n || h.Min() != all[0] || h.Max() != all[n-1] || h.Mean() != sum/n {
				t.Errorf("count %d, min %v, max %v, mean %v, want %d, %v, %v, %v", h.Count(), h.Min(), h.Max(), h.Mean(), n, all[0], all[n-1], sum/n)
			}
			for _, q := range []float64{0, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1} {
				want := all[max(int(math.Ceil(q*n))-1, 0)]
				if got := h.Quantile(q); math.Abs(float64(got-want)) > float64(want)/1000+1 {
					t.Errorf("quantile %v: got %v, want %v", q, got, want)
				}
			}
		})
	}
	h := NewHistogram()
	if h.Quantile(0.99) != 0 || h.Min() != 0 || h.Max() != 0 || h.Mean() != 0 || h.plot(10) != "" {
		t.Errorf("an empty histogram is not zero")
	}
	h.Add(-time.Second)
	h.Add(24 * time.Hour)
	if h.Min() != 0 || h.Max() != longest || h.Count() != 2 {
		t.Errorf("got %v to %v, want 0 to 1h", h.Min(), h.Max())
	}
}

func TestPlot(t *testing.T) {
	t.Parallel()
	h := NewHistogram()
	for _, row := range []struct {
		d time.Duration
		n int
	}{{250 * time.Microsecond, 40}, {700 * time.Microsecond, 80}, {3 * time.Millisecond, 1}} {
		for range row.n {
			h.Add(row.d)
		}
	}
	want := `
    200µs - 500µs           40 ████
    500µs - 1ms             80 ████████
      1ms - 2ms              0
      2ms - 5ms              1 ▏
`
	if got := h.plot(8); got != want[1:] {
		t.Errorf("got\n%swant%s", got, want)
	}
	h.Add(0)
	h.Add(time.Minute)
	got := h.plot(8)
	if lines := strings.Count(got, "\n"); lines > plotBars || !strings.HasPrefix(got, "       0s - 1ns              1 ▏\n") || !strings.Contains(got, " 10s - 1m40s            1 ▏\n") {
		t.Errorf("from 0 to 1 min:\n%s", got)
	}
}

package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/ferry/bench/internal/harness"
)

// verdict says whether head is worse than base for one row in one case.
type verdict string

const (
	within      verdict = "ok"           // ratio plus error is at most the limit
	exceeds     verdict = "worse"        // ratio minus error is above the limit
	undecided   verdict = "undecided"    // the limit lies within the error of the ratio
	notMeasured verdict = "not measured" // fewer than three rounds succeeded
)

// final reports whether more rounds cannot change the verdict.
func (v verdict) final() bool { return v == within || v == exceeds }

// fewest is the minimum number of rounds for a verdict.
const fewest = 3

// ratio returns the median of head/base over the rounds, and the half width of its 95 % confidence interval. Where a higher
// headline is better, ratio uses base/head. So a ratio above 1 always means that head is worse.
func (p *pair) ratio(better harness.Better) (ratio, margin float64) {
	var all []float64
	for i := range p.base {
		x, y := p.head[i], p.base[i]
		if better == harness.Higher {
			x, y = y, x
		}
		switch {
		case y > 0:
			all = append(all, x/y)
		case x == y:
			all = append(all, 1)
		default:
			all = append(all, math.Inf(1))
		}
	}
	if ratio = median(all); math.IsInf(ratio, 0) {
		return ratio, 0
	}
	deviations := make([]float64, len(all))
	for i, r := range all {
		deviations[i] = math.Abs(r - ratio)
	}
	// Assume a normal distribution. Then sigma is 1.4826 times the median absolute deviation. The standard error of the median
	// of n values is 1.2533 sigma / sqrt(n), and 1.96 standard errors give 95 % confidence.
	return ratio, 1.96 * 1.2533 * 1.4826 * median(deviations) / math.Sqrt(float64(len(all)))
}

func (p *pair) verdict(better harness.Better, limit float64) verdict {
	if len(p.base) < fewest {
		return notMeasured
	}
	ratio, margin := p.ratio(better)
	switch {
	case ratio+margin <= limit:
		return within
	case ratio-margin > limit:
		return exceeds
	}
	return undecided
}

// worse reports whether any row is worse than the limit or could not be measured.
func (c *comparison) worse(limit float64) bool {
	return slices.ContainsFunc(c.pairs, func(p *pair) bool {
		v := p.verdict(c.better, limit)
		return v == exceeds || v == notMeasured && !p.absent
	})
}

// table lists both versions' medians, the ratio and the verdict for each row and case.
func (c *comparison) table(base string, limit float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: this tree against %s, %s, %s is better, limit %v\n\n", c.question, base, c.unit, c.better, limit)
	b.WriteString("| row | case | base | head | ratio | error | rounds | |\n|---|---|--:|--:|--:|--:|--:|---|\n")
	for _, p := range c.pairs {
		if p.absent {
			continue
		}
		v := p.verdict(c.better, limit)
		if v == notMeasured {
			reason := "too few rounds"
			if p.err != nil {
				reason = p.err.Error()
			}
			fmt.Fprintf(&b, "| %s | %s | | | | | %d | %s: %s |\n", p.row, p.name, len(p.base), v, reason)
			continue
		}
		ratio, margin := p.ratio(c.better)
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.3f | ±%.3f | %d | %s |\n",
			p.row, p.name, harness.Number(median(p.base)), harness.Number(median(p.head)), ratio, margin, len(p.base), v)
	}
	return b.String()
}

// median returns the median of values, or NaN if there are none.
func median(all []float64) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(all))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

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
	return harness.Margin(all)
}

func (p *pair) verdict(better harness.Better, limit float64) verdict {
	if len(p.base) < fewest {
		return notMeasured
	}
	ratio, margin := p.ratio(better)
	return map[harness.Verdict]verdict{harness.Yes: within, harness.No: exceeds, harness.Undecided: undecided}[harness.Decide(ratio, margin, limit, true)]
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
		was, _ := harness.Margin(p.base)
		is, _ := harness.Margin(p.head)
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.3f | ±%.3f | %d | %s |\n",
			p.row, p.name, harness.Number(was), harness.Number(is), ratio, margin, len(p.base), v)
	}
	return b.String()
}

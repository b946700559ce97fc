package harness

import (
	"math"
	"slices"
)

// Verdict says whether a goal is met.
type Verdict string

// The verdicts.
const (
	Yes       Verdict = "yes"
	No        Verdict = "no"
	Undecided Verdict = "undecided" // the distance between the figure and the limit is smaller than the figure's error
	Open      Verdict = "open"      // not measured
)

// fewest is the minimum number of rounds for a verdict.
const fewest = 3

// Decide compares a figure with an upper bound (most) or a lower bound. The figure's true value lies within margin of value.
func Decide(value, margin, limit float64, most bool) Verdict {
	low, high := value-margin, value+margin
	switch {
	case math.IsNaN(value):
		return Open
	case most && high <= limit, !most && low >= limit:
		return Yes
	case most && low > limit, !most && high < limit:
		return No
	}
	return Undecided
}

// Margin returns the median of samples, and the half width of its 95 % confidence interval. Both are NaN without samples.
func Margin(samples []float64) (mid, margin float64) {
	if len(samples) == 0 {
		return math.NaN(), math.NaN()
	}
	if mid = median(samples); math.IsInf(mid, 0) {
		return mid, 0
	}
	deviations := make([]float64, len(samples))
	for i, v := range samples {
		deviations[i] = math.Abs(v - mid)
	}
	// Assume a normal distribution. Then sigma is 1.4826 times the median absolute deviation. The standard error of the median
	// of n values is 1.2533 sigma / sqrt(n), and 1.96 standard errors give 95 % confidence.
	return mid, 1.96 * 1.2533 * 1.4826 * median(deviations) / math.Sqrt(float64(len(samples)))
}

// againError returns the relative error that the A/A rows show for one figure of rows in one case. It is the largest error of those
// rows that have an A/A row, or else that of the first row of ferry.
func (r *Result) againError(name, figure string, rows ...string) float64 {
	largest, found := 0.0, false
	for _, row := range rows {
		if e, ok := r.againErrorOf(row, name, figure); ok {
			largest, found = max(largest, e), true
		}
	}
	if !found {
		largest, _ = r.againErrorOf(r.firstFerry(), name, figure)
	}
	return largest
}

// againErrorOf returns the relative error that the A/A row of one row shows. The row and its A/A row are the same, measured twice in
// each round. If nothing disturbed a measurement and its figure were exact, the ratio of the two would always be 1. The error is the
// larger one of the median's distance from 1 and the median's margin. ok is false if there is no A/A row, or if it has no such figure.
func (r *Result) againErrorOf(row, name, figure string) (relative float64, ok bool) {
	var ratios []float64
	for _, round := range r.rounds {
		x, okX := round.figures[againName(row)][name][figure]
		y, okY := round.figures[row][name][figure]
		switch {
		case !okX || !okY:
		case x == y:
			ratios = append(ratios, 1)
		case y != 0:
			ratios = append(ratios, x/y)
		}
	}
	if len(ratios) == 0 {
		return 0, false
	}
	mid, margin := Margin(ratios)
	return max(math.Abs(mid-1), margin), true
}

// cell names one figure in one case.
type cell struct{ name, figure string }

// judge evaluates a goal. Its error is the larger one of two: the margin of the goal's value over the rounds, and the error of
// the A/A rows in the rows, cases and figures that the goal reads.
func (r *Result) judge(g Goal) GoalResult {
	a := g.unmeasured()
	r.read = make(map[cell][]string)
	v := g.Value(r)
	read := r.read
	r.read = nil
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return a
	}
	var each []float64
	for _, one := range r.eachRound() {
		if x := g.Value(one); !math.IsNaN(x) && !math.IsInf(x, 0) {
			each = append(each, x)
		}
	}
	_, margin := Margin(each)
	for c, rows := range read {
		margin = max(margin, math.Abs(v)*r.againError(c.name, c.figure, rows...))
	}
	if math.IsNaN(margin) {
		margin = 0 // all figures were recorded earlier
	}
	a.Measured, a.Error = &v, margin
	verdict := Decide(v, margin, g.Limit, g.Most)
	if len(r.rounds) < fewest {
		verdict = Undecided
	}
	a.Met, a.Undecided = verdict == Yes, verdict == Undecided
	return a
}

// eachRound returns a result of each round alone.
func (r *Result) eachRound() []*Result {
	for i := len(r.alone); i < len(r.rounds); i++ {
		one := *r
		one.rounds, one.read = r.rounds[i:i+1], nil
		one.Rows = make([]Row, len(r.Rows))
		for k, row := range r.Rows {
			one.Rows[k] = one.newRow(row.contender)
		}
		r.alone = append(r.alone, &one)
	}
	return r.alone
}

// undecided reports whether more rounds may change the verdict of a goal.
func (r *Result) undecided() bool {
	return slices.ContainsFunc(r.Goals, func(g GoalResult) bool { return g.Undecided })
}

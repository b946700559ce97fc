package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"time"

	"example.com/ferry/bench/internal/harness"
)

// filter selects rows and cases.
type filter struct{ rows, cases *regexp.Regexp }

func newFilter(rows, cases string) (f filter, err error) {
	if f.rows, err = regexp.Compile(rows); err != nil {
		return f, fmt.Errorf("-rows: %w", err)
	}
	if f.cases, err = regexp.Compile(cases); err != nil {
		return f, fmt.Errorf("-cases: %w", err)
	}
	return f, nil
}

// comparison holds the rows and cases of one benchmark, in the order of the printed table.
type comparison struct {
	question, unit string
	better         harness.Better
	pairs          []*pair
}

// pair holds the measurements of one row in one case, from both versions.
type pair struct {
	row, name  string // names of the row and of the case
	base, head []float64
	absent     bool // the row is not measured in this case
	err        error
}

// newComparison returns a comparison of the rows and cases that exist in both versions.
func newComparison(base, head harness.Inventory, f filter) (*comparison, error) {
	if base.Unit != head.Unit || base.Better != head.Better {
		return nil, fmt.Errorf("base measures %s, %s is better, and head %s, %s is better", base.Unit, base.Better, head.Unit, head.Better)
	}
	c := &comparison{question: head.Question, unit: head.Unit, better: head.Better}
	for _, row := range head.Rows {
		for _, name := range head.Cases {
			if slices.Contains(base.Rows, row) && slices.Contains(base.Cases, name) && f.rows.MatchString(row) && f.cases.MatchString(name) {
				c.pairs = append(c.pairs, &pair{row: row, name: name})
			}
		}
	}
	if len(c.pairs) == 0 {
		return nil, errors.New("base and head have no row and case in common that is to be measured")
	}
	return c, nil
}

// measurer measures one version.
type measurer interface {
	measure(row, name string) (headline float64, ok bool, err error)
}

// measure runs rounds until every pair has a final verdict or the limit of rounds is reached.
func (c *comparison) measure(ctx context.Context, s settings, base, head measurer) error {
	for round := range s.most {
		open := 0
		for _, p := range c.pairs {
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
			if p.absent || round >= s.rounds && p.verdict(c.better, s.limit).final() {
				continue
			}
			open++
			p.measure(c.better, base, head, round%2 == 1)
		}
		if open == 0 {
			return nil
		}
		fmt.Fprintf(os.Stderr, "compare: %s: round %d: %d rows and cases\n", c.question, round+1, open)
	}
	return nil
}

const (
	quick     = 500 * time.Millisecond // a shorter pair of measurements is repeated
	mostTakes = 5                      // maximum number of repetitions in one round
)

// measure adds one round to the pair. It records the best headline of each version, because other programs can only make
// a headline worse. The versions are measured in turn, beginning with head if headFirst is set. If a measurement fails, the
// round is not recorded.
func (p *pair) measure(better harness.Better, base, head measurer, headFirst bool) {
	best := func(x, y float64) float64 {
		if better == harness.Higher {
			return max(x, y)
		}
		return min(x, y)
	}
	versions := [2]measurer{base, head}
	var headlines [2]float64
	start := time.Now()
	for take := range mostTakes {
		for i := range versions {
			if headFirst {
				i = 1 - i
			}
			headline, ok, err := versions[i].measure(p.row, p.name)
			if err != nil {
				p.err = err
				return
			}
			if !ok {
				p.absent = true
				return
			}
			if take > 0 {
				headline = best(headline, headlines[i])
			}
			headlines[i] = headline
		}
		if time.Since(start) > quick {
			break
		}
		headFirst = !headFirst
	}
	p.base, p.head = append(p.base, headlines[0]), append(p.head, headlines[1])
}

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

// comparison is a question's rows and cases, in the order of the table.
type comparison struct {
	question, unit string
	better         harness.Better
	pairs          []*pair
}

// pair is one row in one case, measured in both versions.
type pair struct {
	row, name  string // of the row, of the case
	base, head []float64
	absent     bool // the row has no part in the case
	err        error
}

// newComparison holds the rows and cases that both versions have.
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

// measurer is a version that measures.
type measurer interface {
	measure(row, name string) (headline float64, ok bool, err error)
}

// measure runs the rounds.
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
	quick     = 500 * time.Millisecond // a pair of measurements that takes less is repeated
	mostTakes = 5                      // how often it is measured in one round
)

// measure adds a round: the better headline of each version, as what disturbs a quick measurement only makes it worse. The
// first measurement is head's if headFirst, then they alternate. If one fails, the round is left out.
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

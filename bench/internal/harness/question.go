package harness

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Question is one folder of bench/: what is measured, and how the result is reported.
type Question struct {
	Name   string // of the folder and of the result's files: field_lookup
	Title  string // one line
	About  string // a paragraph: what is measured, how, and the limits of the figures
	Unit   string // of the headline; also the name of the headline among a contender's Figures: ns/op
	Better Better

	Cases   []string // in the order of the tables; the first is the headline
	Figures []string // the names of further figures, in the order of the tables
	Plot    []string // the cases of the plot; nil means all

	// Prepare, if not nil, runs first. It builds programs and files in dir, which is removed at the end.
	Prepare func(dir string) error

	Checks     []Check
	Contenders []Contender

	// Disturbed, if not nil, reports whether other programs disturbed a measurement; it replaces the harness's spins. A
	// disturbed measurement is repeated, up to twice. A round with a measurement that stays disturbed is void. If void rounds
	// are counted for lack of others, no goal is met.
	Disturbed func(Figures) bool

	// Charts, if not nil, returns further plots of the result.
	Charts func(*Result) ([]Chart, error)

	Goals []Goal
	Notes []string // sentences below the tables
}

// Better is the direction in which a headline improves.
type Better string

// The directions.
const (
	Lower  Better = "lower"
	Higher Better = "higher"
)

// Kind is the role of a row.
type Kind string

// The kinds of rows.
const (
	Ferry Kind = "ferry" // ferry itself; the first row is the numerator of the goals
	Peer  Kind = "peer"  // an alternative to ferry
	Limit Kind = "limit" // the least work that any program has to do
	Seed  Kind = "seed"  // recorded earlier, with code that is not available as a module
)

// Figures are the values of one measurement, by name.
type Figures map[string]float64

// Contender is one row.
type Contender struct {
	Name    string
	Kind    Kind
	Version string

	// Measure measures one case for about budget. Nil Figures mean that the contender does not take part in the case.
	Measure func(name string, budget time.Duration) (Figures, error)

	// Recorded holds figures by case in place of Measure. Version says where they were measured.
	Recorded map[string]Figures
}

// Check must succeed before anything is timed. A typical one: all contenders give the same output for the same bytes.
type Check struct {
	Name string // a sentence, listed in the result
	Run  func() error
}

// Goal is a bound on a figure.
type Goal struct {
	Text  string
	Most  bool // whether Limit is an upper bound of Value, or a lower one
	Limit float64
	Value func(*Result) float64 // NaN: not measured
}

// AtMost is a goal that is met by a value of up to limit.
func AtMost(limit float64, text string, value func(*Result) float64) Goal {
	return Goal{Text: text, Most: true, Limit: limit, Value: value}
}

// AtLeast is a goal that is met by a value of limit or more.
func AtLeast(limit float64, text string, value func(*Result) float64) Goal {
	return Goal{Text: text, Limit: limit, Value: value}
}

// plotted returns the cases that the plot shows.
func (q *Question) plotted() []string {
	if q.Plot == nil {
		return q.Cases
	}
	return q.Plot
}

// validate returns an error for a question that is not complete.
func (q *Question) validate() error {
	if q.Name == "" || q.Unit == "" || len(q.Cases) == 0 || len(q.Contenders) == 0 {
		return errors.New("harness: a question needs a name, a unit, a case and a contender")
	}
	if q.Better != Lower && q.Better != Higher {
		return fmt.Errorf("harness: %s: Better is %q: want Lower or Higher", q.Name, q.Better)
	}
	var names []string
	for _, c := range q.Contenders {
		if (c.Measure == nil) == (c.Recorded == nil) {
			return fmt.Errorf("harness: %s: %s needs either Measure or Recorded", q.Name, c.Name)
		}
		if slices.Contains(names, c.Name) {
			return fmt.Errorf("harness: %s: two rows are named %s", q.Name, c.Name)
		}
		names = append(names, c.Name)
	}
	return nil
}

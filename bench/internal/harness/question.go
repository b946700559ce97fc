package harness

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Question is what one folder of bench/ asks.
type Question struct {
	Name   string // of the folder and of the result's files: field_lookup
	Title  string // one line
	About  string // a paragraph: what is measured, how, and what to beware of when reading it
	Unit   string // of the headline; also the name of the headline among a contender's Figures: ns/op
	Better Better

	Cases   []string // in the order of the tables; the first is the headline
	Figures []string // the names of further figures, in the order of the tables
	Plot    []string // the cases of the plot; nil means all

	// Prepare, if not nil, runs first of all: it makes what the question needs in dir, which is removed at the end.
	Prepare func(dir string) error

	Checks     []Check
	Contenders []Contender

	// Disturbed, if not nil, says that others were in the way of a measurement, in place of the harness's own spins. It is
	// taken again, up to twice; a round with one that still was is void, and where void rounds had to be counted no goal is met.
	Disturbed func(Figures) bool

	// Charts, if not nil, gives further plots, drawn after the rounds.
	Charts func(*Result) ([]Chart, error)

	Goals []Goal
	Notes []string // sentences below the tables
}

// Better says which way is up.
type Better string

// Whether a small or a large headline is what one wants.
const (
	Lower  Better = "lower"
	Higher Better = "higher"
)

// Kind says what a row is.
type Kind string

// The kinds of rows.
const (
	Ferry Kind = "ferry" // what this is about; the first one is the numerator of the goals
	Peer  Kind = "peer"  // what people use instead
	Limit Kind = "limit" // the least that any program has to do
	Seed  Kind = "seed"  // recorded earlier, with code that cannot be had as a module
)

// Figures are what one measurement gives, by name.
type Figures map[string]float64

// Contender is one row.
type Contender struct {
	Name    string
	Kind    Kind
	Version string

	// Measure measures one case for about budget. Nil Figures mean that the contender has no part in the case.
	Measure func(name string, budget time.Duration) (Figures, error)

	// Recorded holds figures by case instead: they were taken elsewhere, as Version says.
	Recorded map[string]Figures
}

// Check must hold before anything is timed: typically, that all contenders give the same output for the same bytes.
type Check struct {
	Name string // a sentence, listed in the result
	Run  func() error
}

// Goal is a figure that was asked for.
type Goal struct {
	Text  string
	Most  bool // whether Limit is the most, or the least, that Value may be
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

// plotted returns the cases of the plot.
func (q *Question) plotted() []string {
	if q.Plot == nil {
		return q.Cases
	}
	return q.Plot
}

// validate finds what a question's author forgot.
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

package harness

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Question is one benchmark, in one folder of bench/. It says what is measured and how the result is reported.
type Question struct {
	Name   string // name of the folder and of the result's files: field_lookup
	Title  string // heading of the report, one line
	About  string // a paragraph: what is measured, how, and the limits of the figures
	Unit   string // unit of the headline, and the name of the headline among a contender's Figures: ns/op
	Better Better

	Cases   []string // in the order of the tables; the first is the headline
	Figures []string // the names of the figures besides the headline, in the order of the tables
	Plot    []string // the cases that the plot shows; nil means all

	// Prepare, if not nil, runs before the checks. It builds programs and files in dir. The harness removes dir at the end.
	Prepare func(dir string) error

	Checks     []Check
	Contenders []Contender

	// Disturbed, if not nil, reports whether a measurement is disturbed, for example because the load generator was late. The
	// harness itself tests how many cores were taken from the measurement. A disturbed measurement is repeated, up to twice.
	Disturbed func(Figures) bool

	// Charts, if not nil, returns line plots of the result, which the report shows after the bar plot.
	Charts func(*Result) ([]Chart, error)

	Goals []Goal
	Notes []string // sentences that the report shows below the tables
}

// Better says whether a lower or a higher headline is better.
type Better string

// The values of Better.
const (
	Lower  Better = "lower"
	Higher Better = "higher"
)

// Kind says what a row of the report measures: ferry, or something that ferry is compared with.
type Kind string

// The kinds of rows.
const (
	Ferry Kind = "ferry" // ferry itself; goals use the first row of this kind
	Peer  Kind = "peer"  // an alternative to ferry
	Limit Kind = "limit" // the least work that any program has to do
	Again Kind = "again" // an A/A row, which the harness adds: a row of kind Ferry, measured a second time in each round
	Seed  Kind = "seed"  // the original implementation, recorded earlier because its code is not available as a module
)

// Figures are the values of one measurement, by name.
type Figures map[string]float64

// Contender is one measured implementation, and a row of the report.
type Contender struct {
	Name    string
	Kind    Kind
	Version string

	// Again adds an A/A row, which gives the error of goals and ratios that read this row. The first row of ferry has one in any case;
	// its error is that of goals and ratios of rows without one.
	Again bool

	// Measure measures one case for about budget. Nil Figures mean that the contender does not take part in the case.
	Measure func(name string, budget time.Duration) (Figures, error)

	// Open, if not nil, starts the contender for one case. Measure is nil then. A nil Session means that the contender does not
	// take part in the case.
	Open func(name string) (Session, error)

	// Absent says why there are no figures for a case: in a few words, for the cell of the table. It may be nil.
	Absent func(name string) string

	// Recorded holds figures by case that were measured earlier; Measure and Open are nil then. Version says where they were
	// measured.
	Recorded map[string]Figures
}

// Check is a test that must succeed before anything is timed. A typical Check compares the output of all contenders for the
// same bytes.
type Check struct {
	Name string // sentence that the result lists
	Run  func() error
}

// Goal is a limit that a figure or a ratio has to meet.
type Goal struct {
	Text  string
	Most  bool // true: Limit is an upper bound of Value; false: a lower bound
	Limit float64
	Value func(*Result) float64 // returns NaN if it was not measured
}

// AtMost returns a goal that is met if value is at most limit.
func AtMost(limit float64, text string, value func(*Result) float64) Goal {
	return Goal{Text: text, Most: true, Limit: limit, Value: value}
}

// AtLeast returns a goal that is met if value is at least limit.
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

// validate returns an error if a required field of q is missing or fields contradict each other.
func (q *Question) validate() error {
	if q.Name == "" || q.Unit == "" || len(q.Cases) == 0 || len(q.Contenders) == 0 {
		return errors.New("harness: a question needs a name, a unit, a case and a contender")
	}
	if q.Better != Lower && q.Better != Higher {
		return fmt.Errorf("harness: %s: Better is %q: want Lower or Higher", q.Name, q.Better)
	}
	var names []string
	for _, c := range q.Contenders {
		given := 0
		for _, has := range []bool{c.Measure != nil, c.Open != nil, c.Recorded != nil} {
			if has {
				given++
			}
		}
		if given != 1 {
			return fmt.Errorf("harness: %s: %s needs either Measure, Open or Recorded", q.Name, c.Name)
		}
		if slices.Contains(names, c.Name) {
			return fmt.Errorf("harness: %s: two rows are named %s", q.Name, c.Name)
		}
		names = append(names, c.Name)
	}
	return nil
}

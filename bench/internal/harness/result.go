package harness

import (
	"fmt"
	"math"
	"slices"
)

// Result holds all figures of one benchmark run. It is the content of results/NAME.json.
type Result struct {
	File     string             `json:"-"` // name of the result's files without extension; set by ReadResults
	Question string             `json:"question"`
	Title    string             `json:"title"`
	About    string             `json:"about"`
	Unit     string             `json:"unit"`
	Better   Better             `json:"better"`
	Cases    []string           `json:"cases"` // the first is the headline
	Figures  []string           `json:"figures"`
	Plot     []string           `json:"plot"` // the cases of the plot
	Rows     []Row              `json:"rows"`
	Ratios   map[string]float64 `json:"ratios"` // ratios of headlines, by the names of the two rows: "ferry/gjson"
	Errors   map[string]float64 `json:"errors"` // errors of Ratios: the true ratio lies within the ratio plus and minus its error
	Checks   []string           `json:"checks"` // names of the checks; all of them succeeded
	Goals    []GoalResult       `json:"goals"`
	Notes    []string           `json:"notes"`
	Charts   []Chart            `json:"charts,omitempty"`
	Rounds   Rounds             `json:"rounds"`
	Command  string             `json:"command"`
	Machine  Machine            `json:"machine"`

	rounds []round
	alone  []*Result         // the result of each round alone; see eachRound
	read   map[cell][]string // the cells that a goal reads, and of which rows, while judge evaluates it
}

// Row is one contender's part of a Result.
type Row struct {
	Name    string                     `json:"name"`
	Kind    Kind                       `json:"kind"`
	Value   float64                    `json:"value"` // headline in the first case that the row takes part in: median of the rounds
	Spread  float64                    `json:"spread"`
	Version string                     `json:"version"`
	Cases   map[string]map[string]Stat `json:"cases"`            // figures by case and name
	Absent  map[string]string          `json:"absent,omitempty"` // why a case has no figures

	contender Contender
}

// Stat summarizes the values of one figure over the rounds.
type Stat struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`

	// Ratio is the headline divided by that of the first ferry row, and Error is its error. Both are 0 for other figures.
	Ratio float64 `json:"ratio,omitempty"`
	Error float64 `json:"error,omitempty"`
}

// GoalResult is a goal and its measured value.
type GoalResult struct {
	Text      string   `json:"text"`
	Asked     string   `json:"asked"`
	Measured  *float64 `json:"measured"` // null if the goal was not measured
	Error     float64  `json:"error"`    // the true value lies within Measured plus and minus Error
	Met       bool     `json:"met"`
	Undecided bool     `json:"undecided,omitempty"` // the distance from the goal is smaller than Error
	Void      bool     `json:"void,omitempty"`      // only in results of an earlier harness: disturbed rounds were counted
}

// Rounds says how many rounds were measured, and what was taken from them.
type Rounds struct {
	Counted int `json:"counted"` // rounds that the medians include
	Run     int `json:"run"`     // all rounds; the same as Counted, except in results of an earlier harness
	Void    int `json:"void"`    // only in results of an earlier harness: disturbed rounds among Counted

	Measurements int     `json:"measurements"`
	Disturbed    int     `json:"disturbed"` // measurements that stayed disturbed when they were repeated
	Foreign      float64 `json:"foreign"`   // cores that other programs and the hypervisor took, on average
	Steal        float64 `json:"steal"`     // the part of Foreign that the hypervisor took
}

func newResult(q Question, m Machine, rounds []round) (*Result, error) {
	r := &Result{
		Question: q.Name, Title: q.Title, About: q.About, Unit: q.Unit, Better: q.Better,
		Cases: q.Cases, Figures: q.Figures, Plot: q.plotted(),
		Ratios: make(map[string]float64), Errors: make(map[string]float64), Notes: q.Notes,
		Rounds:  summarize(rounds),
		Command: "make bench Q=" + q.Name,
		Machine: m, rounds: rounds,
	}
	for _, c := range q.Checks {
		r.Checks = append(r.Checks, c.Name)
	}
	for _, c := range q.Contenders {
		row := r.newRow(c)
		if r.headlineOf(row) == nil {
			return nil, fmt.Errorf("harness: %s: %s has no %s, which is the headline, in any case", r.Question, c.Name, r.Unit)
		}
		r.Rows = append(r.Rows, row)
	}
	r.addRatios()
	for _, g := range q.Goals {
		r.Goals = append(r.Goals, r.judge(g))
	}
	return r, nil
}

func summarize(rounds []round) Rounds {
	s := Rounds{Counted: len(rounds), Run: len(rounds)}
	wall := 0.0
	for _, one := range rounds {
		s.Measurements += one.measured
		s.Disturbed += one.disturbed
		s.Foreign += one.foreign
		s.Steal += one.steal
		wall += one.wall
	}
	if wall > 0 {
		s.Foreign /= wall
		s.Steal /= wall
	}
	return s
}

func (r *Result) newRow(c Contender) Row {
	row := Row{Name: c.Name, Kind: c.Kind, Version: c.Version, Cases: make(map[string]map[string]Stat), Absent: make(map[string]string), contender: c}
	for _, name := range r.Cases {
		samples := make(map[string][]float64)
		collect := func(f Figures) {
			for figure, v := range f {
				samples[figure] = append(samples[figure], v)
			}
		}
		collect(c.Recorded[name])
		for _, round := range r.rounds {
			collect(round.figures[c.Name][name])
		}
		if len(samples) == 0 {
			if c.Absent != nil {
				row.Absent[name] = c.Absent(name)
			}
			continue
		}
		row.Cases[name] = make(map[string]Stat)
		for figure, all := range samples {
			row.Cases[name][figure] = newStat(all)
		}
	}
	if s := r.headlineOf(row); s != nil {
		row.Value, row.Spread = s.Median, s.spread()
	}
	return row
}

// headlineOf returns a row's headline in the first of its cases, or nil if it has none.
func (r *Result) headlineOf(row Row) *Stat {
	for _, name := range r.Cases {
		if s, ok := row.Cases[name][r.Unit]; ok {
			return &s
		}
	}
	return nil
}

// addRatios divides the headline of each ferry row by that of each other row, and in each case the headline of each row by
// that of the first ferry row.
func (r *Result) addRatios() {
	for _, f := range r.Rows {
		for _, p := range r.Rows {
			if f.Kind != Ferry || p.Kind == Ferry {
				continue
			}
			if x, margin := r.ratio(f.Name, p.Name, r.Cases[0], r.Unit); !math.IsNaN(x) {
				r.Ratios[f.Name+"/"+p.Name], r.Errors[f.Name+"/"+p.Name] = x, margin
			}
		}
	}
	first := r.firstFerry()
	for _, row := range r.Rows {
		for name, figures := range row.Cases {
			s, ok := figures[r.Unit]
			if x, margin := r.ratio(row.Name, first, name, r.Unit); ok && row.Name != first && !math.IsNaN(x) {
				s.Ratio, s.Error = x, margin
				figures[r.Unit] = s
			}
		}
	}
}

// Ratio divides a's figure by b's figure in each round, and returns the median of the quotients. If a row has recorded figures,
// Ratio divides the medians instead. It returns NaN if a figure is missing or b's figure is 0.
func (r *Result) Ratio(a, b, name, figure string) float64 {
	r.noteRead(name, figure, a, b)
	all := r.quotients(a, b, name, figure)
	if len(all) > 0 {
		return median(all)
	}
	if y := r.Stat(b, name, figure).Median; y != 0 {
		return r.Stat(a, name, figure).Median / y
	}
	return math.NaN()
}

// ratio returns Ratio and its error: the larger one of the margin over the rounds and the error of the A/A rows.
func (r *Result) ratio(a, b, name, figure string) (x, margin float64) {
	x = r.Ratio(a, b, name, figure)
	margin = x * r.againError(name, figure, a, b)
	if all := r.quotients(a, b, name, figure); len(all) > 0 {
		_, overRounds := Margin(all)
		margin = max(margin, overRounds)
	}
	return x, margin
}

// quotients returns a's figure divided by b's figure in each round.
func (r *Result) quotients(a, b, name, figure string) (all []float64) {
	for _, round := range r.rounds {
		x, okX := round.figures[a][name][figure]
		y, okY := round.figures[b][name][figure]
		if okX && okY && y != 0 {
			all = append(all, x/y)
		}
	}
	return all
}

func (r *Result) noteRead(name, figure string, rows ...string) {
	if c := (cell{name, figure}); r.read != nil {
		r.read[c] = append(r.read[c], rows...)
	}
}

// Stat returns the summary of one figure; its members are NaN if the figure is missing.
func (r *Result) Stat(row, name, figure string) Stat {
	r.noteRead(name, figure, row)
	if i := slices.IndexFunc(r.Rows, func(x Row) bool { return x.Name == row }); i >= 0 {
		if s, ok := r.Rows[i].Cases[name][figure]; ok {
			return s
		}
	}
	return Stat{Median: math.NaN(), Min: math.NaN(), Max: math.NaN()}
}

// unmeasured returns the goal without a value.
func (g Goal) unmeasured() GoalResult {
	if g.Most {
		return GoalResult{Text: g.Text, Asked: fmt.Sprintf("≤ %v", g.Limit)}
	}
	return GoalResult{Text: g.Text, Asked: fmt.Sprintf("≥ %v", g.Limit)}
}

func newStat(all []float64) Stat {
	return Stat{Median: median(all), Min: slices.Min(all), Max: slices.Max(all)}
}

// spread returns the largest minus the smallest value of the rounds, divided by the median. 0.1 means 10 %.
func (s Stat) spread() float64 {
	if s.Median == 0 {
		return 0
	}
	return (s.Max - s.Min) / s.Median
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

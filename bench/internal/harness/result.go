package harness

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// Result holds all figures of one benchmark run. It is the content of results/NAME.json.
type Result struct {
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
	Checks   []string           `json:"checks"` // names of the checks; all of them succeeded
	Goals    []GoalResult       `json:"goals"`
	Notes    []string           `json:"notes"`
	Charts   []Chart            `json:"charts,omitempty"`
	Rounds   Rounds             `json:"rounds"`
	Command  string             `json:"command"`
	Machine  Machine            `json:"machine"`

	rounds []round
}

// Row is one contender's part of a Result.
type Row struct {
	Name    string                     `json:"name"`
	Kind    Kind                       `json:"kind"`
	Value   float64                    `json:"value"` // headline in the first case: median of the rounds
	Spread  float64                    `json:"spread"`
	Version string                     `json:"version"`
	Cases   map[string]map[string]Stat `json:"cases"` // figures by case and name
}

// Stat summarizes the values of one figure over the rounds.
type Stat struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// GoalResult is a goal and its measured value.
type GoalResult struct {
	Text     string   `json:"text"`
	Asked    string   `json:"asked"`
	Measured *float64 `json:"measured"` // null if the goal was not measured
	Met      bool     `json:"met"`
	Void     bool     `json:"void,omitempty"` // Measured includes void rounds, so Met is not meaningful
}

// Rounds holds the number of rounds that were run, counted and disturbed.
type Rounds struct {
	Counted int `json:"counted"` // rounds that the medians include
	Run     int `json:"run"`
	Void    int `json:"void"` // void rounds among Counted, used because too few rounds were undisturbed
}

func newResult(q Question, m Machine, kept []round, run int) (*Result, error) {
	r := &Result{
		Question: q.Name, Title: q.Title, About: q.About, Unit: q.Unit, Better: q.Better,
		Cases: q.Cases, Figures: q.Figures, Plot: q.plotted(),
		Ratios: make(map[string]float64), Notes: q.Notes,
		Rounds:  Rounds{Counted: len(kept), Run: run},
		Command: "make bench Q=" + q.Name,
		Machine: m, rounds: kept,
	}
	for _, k := range kept {
		if k.void() {
			r.Rounds.Void++
		}
	}
	for _, c := range q.Checks {
		r.Checks = append(r.Checks, c.Name)
	}
	for _, c := range q.Contenders {
		row, err := r.row(c)
		if err != nil {
			return nil, err
		}
		r.Rows = append(r.Rows, row)
	}
	r.addRatios()
	for _, g := range q.Goals {
		a := g.evaluate(r)
		if q.Disturbed != nil && r.Rounds.Void > 0 {
			a.Met, a.Void = false, true
		}
		r.Goals = append(r.Goals, a)
	}
	return r, nil
}

func (r *Result) row(c Contender) (Row, error) {
	row := Row{Name: c.Name, Kind: c.Kind, Version: c.Version, Cases: make(map[string]map[string]Stat)}
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
			continue
		}
		row.Cases[name] = make(map[string]Stat)
		for figure, all := range samples {
			row.Cases[name][figure] = newStat(all)
		}
	}
	s, ok := row.Cases[r.Cases[0]][r.Unit]
	if !ok {
		return row, fmt.Errorf("harness: %s: %s has no %s in case %s, which is the headline", r.Question, c.Name, r.Unit, r.Cases[0])
	}
	row.Value, row.Spread = s.Median, s.spread()
	return row, nil
}

// addRatios divides the headline of each ferry row by that of each other row.
func (r *Result) addRatios() {
	for _, f := range r.Rows {
		for _, p := range r.Rows {
			if f.Kind != Ferry || p.Kind == Ferry {
				continue
			}
			if x := r.Ratio(f.Name, p.Name, r.Cases[0], r.Unit); !math.IsNaN(x) {
				r.Ratios[f.Name+"/"+p.Name] = x
			}
		}
	}
}

// Ratio divides a's figure by b's figure in each round, and returns the median of the quotients. If a row has recorded figures,
// Ratio divides the medians instead. It returns NaN if a figure is missing or b's figure is 0.
func (r *Result) Ratio(a, b, name, figure string) float64 {
	var all []float64
	for _, round := range r.rounds {
		x, okX := round.figures[a][name][figure]
		y, okY := round.figures[b][name][figure]
		if okX && okY && y != 0 {
			all = append(all, x/y)
		}
	}
	if len(all) > 0 {
		return median(all)
	}
	if y := r.Stat(b, name, figure).Median; y != 0 {
		return r.Stat(a, name, figure).Median / y
	}
	return math.NaN()
}

// Stat returns the summary of one figure; its members are NaN if the figure is missing.
func (r *Result) Stat(row, name, figure string) Stat {
	if i := slices.IndexFunc(r.Rows, func(x Row) bool { return x.Name == row }); i >= 0 {
		if s, ok := r.Rows[i].Cases[name][figure]; ok {
			return s
		}
	}
	return Stat{math.NaN(), math.NaN(), math.NaN()}
}

func (g Goal) evaluate(r *Result) GoalResult {
	a := GoalResult{Text: g.Text, Asked: fmt.Sprintf("≥ %v", g.Limit)}
	if g.Most {
		a.Asked = fmt.Sprintf("≤ %v", g.Limit)
	}
	v := g.Value(r)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return a
	}
	a.Measured = &v
	a.Met = v == g.Limit || g.Most == (v < g.Limit)
	return a
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

// WriteFiles writes the result as NAME.json, NAME.md and NAME.svg to dir, and each chart as NAME-CHART.svg.
func (r *Result) WriteFiles(dir string) error {
	doc, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("harness: %s: %w", r.Question, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("harness: %w", err)
	}
	files := map[string]string{".json": string(doc) + "\n", ".md": r.Markdown(), ".svg": r.SVG()}
	for _, c := range r.Charts {
		files["-"+c.Name+".svg"] = c.SVG()
	}
	for ext, text := range files {
		if err := os.WriteFile(filepath.Join(dir, r.Question+ext), []byte(text), 0o644); err != nil {
			return fmt.Errorf("harness: %w", err)
		}
	}
	return nil
}

// ReadResults reads all results in dir (*.json), sorted by name.
func ReadResults(dir string) ([]*Result, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("harness: %w", err)
	}
	var all []*Result
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("harness: %w", err)
		}
		r, err := ParseResult(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// ParseResult decodes a JSON file that WriteFiles wrote.
func ParseResult(text []byte) (*Result, error) {
	r := new(Result)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("harness: not a result: %w", err)
	}
	return r, nil
}

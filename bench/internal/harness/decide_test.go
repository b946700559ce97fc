package harness

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDecide(t *testing.T) {
	for _, row := range []struct {
		name          string
		value, margin float64
		limit         float64
		most          bool
		want          Verdict
	}{
		{"below the most", 1, 0.5, 2, true, Yes},
		{"exactly the most", 2, 0, 2, true, Yes},
		{"above the most", 3, 0.5, 2, true, No},
		{"just below the most", 1.9, 0.2, 2, true, Undecided},
		{"just above the most", 2.1, 0.2, 2, true, Undecided},
		{"above the least", 3, 0.5, 2, false, Yes},
		{"exactly the least", 2, 0, 2, false, Yes},
		{"below the least", 1, 0.5, 2, false, No},
		{"just below the least", 1.9, 0.2, 2, false, Undecided},
		{"not measured", math.NaN(), 0, 2, true, Open},
		{"infinite", math.Inf(1), 0, 2, true, No},
	} {
		if got := Decide(row.value, row.margin, row.limit, row.most); got != row.want {
			t.Errorf("%s: got %s, want %s", row.name, got, row.want)
		}
	}
}

func TestMargin(t *testing.T) {
	if mid, margin := Margin([]float64{1, 1, 1}); mid != 1 || margin != 0 {
		t.Errorf("three equal ones: got %v ±%v", mid, margin)
	}
	// The median absolute deviation is 1.
	mid, margin := Margin([]float64{2, 4, 5})
	if want := 1.96 * 1.2533 * 1.4826 / math.Sqrt(3); mid != 4 || math.Abs(margin-want) > 1e-9 {
		t.Errorf("got %v ±%v, want 4 ±%v", mid, margin, want)
	}
	if mid, _ := Margin(nil); !math.IsNaN(mid) {
		t.Errorf("no samples: got %v", mid)
	}
}

// question has one ferry row, its A/A row, and a peer. Their headlines are the same in every round.
func question(ferry, again []float64, peer float64, goals ...Goal) Question {
	return Question{
		Name: "ask", Unit: NsPerOp, Better: Lower, Cases: []string{"one"}, Goals: goals,
		Contenders: []Contender{script("ferry", Ferry, ferry...), script("ferry, again", Again, again...), script("peer", Peer, peer)},
	}
}

func timesPeer(r *Result) float64 { return r.Ratio("ferry", "peer", "one", NsPerOp) }

func TestGoalsHaveErrors(t *testing.T) {
	noisy := []float64{8, 10, 12}
	for _, row := range []struct {
		name         string
		ferry, again []float64
		goal         Goal
		want         Verdict
		margin       float64
	}{
		{"far below, calm", []float64{10}, []float64{10}, AtMost(0.9, "", timesPeer), Yes, 0},
		{"far above, calm", []float64{10}, []float64{10}, AtMost(0.4, "", timesPeer), No, 0},
		{"the A/A row is 30 % off", []float64{10}, []float64{13}, AtMost(0.6, "", timesPeer), Undecided, 0.15},
		{"the A/A row is 30 % off, and the goal is far", []float64{10}, []float64{13}, AtMost(0.7, "", timesPeer), Yes, 0.15},
		{"the rounds differ, the A/A row says nothing", noisy, noisy, AtMost(0.55, "", timesPeer), Undecided, 0.1 * 1.96 * 1.2533 * 1.4826 / math.Sqrt(3)},
		{"a figure that the A/A row has not", []float64{10}, []float64{13}, AtMost(0, "", func(r *Result) float64 {
			return r.Stat("ferry", "one", "allocs/op").Median
		}), Yes, 0},
		{"a figure that nothing has", []float64{10}, []float64{13}, AtMost(1, "", func(r *Result) float64 {
			return r.Stat("ferry", "two", NsPerOp).Median
		}), Open, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := measured(t, question(row.ferry, row.again, 20, row.goal)).Goals[0]
			if g.Verdict() != row.want || math.Abs(g.Error-row.margin) > 1e-9 {
				t.Errorf("got %s ±%v, want %s ±%v", g.Verdict(), g.Error, row.want, row.margin)
			}
		})
	}
	q := question([]float64{10}, []float64{10}, 20, AtMost(0.9, "", timesPeer))
	r, err := newResult(q, Machine{}, rounds(t, q, fewest-1))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Goals[0].Verdict(); got != Undecided {
		t.Errorf("two rounds: got %s, want undecided", got)
	}
}

// TestGoalsOfRowsWithAgain: the error of a goal is that of the A/A rows of the rows that it reads, where they have any.
func TestGoalsOfRowsWithAgain(t *testing.T) {
	read := func(row string) Goal {
		return AtMost(1, "", func(r *Result) float64 { return r.Ratio(row, "peer", "one", NsPerOp) })
	}
	calm := script("calm", Ferry, 10)
	calm.Again = true
	q := Question{
		Name: "ask", Unit: NsPerOp, Better: Lower, Cases: []string{"one"}, Goals: []Goal{read("ferry"), read("calm"), read("other")},
		Contenders: []Contender{
			script("ferry", Ferry, 10, 13), // 10 in each round, and then 13 for the A/A row
			calm, script("other", Ferry, 10), script("peer", Peer, 20),
			{Name: "seed", Kind: Seed, Recorded: map[string]Figures{"one": {"ns/op": 500}}},
		},
	}.withAgain()
	var names []string
	for _, c := range q.Contenders {
		names = append(names, c.Name)
	}
	if want := []string{"ferry", "calm", "other", "peer", "ferry, again", "calm, again", "seed"}; !slices.Equal(names, want) {
		t.Errorf("got the rows %q, want %q", names, want)
	}
	for i, want := range []float64{0.15, 0, 0.15} {
		if g := measured(t, q).Goals[i]; math.Abs(g.Error-want) > 1e-9 {
			t.Errorf("goal %d: got ±%v, want ±%v", i, g.Error, want)
		}
	}
}

func TestRatiosHaveErrors(t *testing.T) {
	r := measured(t, question([]float64{10}, []float64{11}, 20))
	if x, margin := r.Ratios["ferry/peer"], r.Errors["ferry/peer"]; x != 0.5 || math.Abs(margin-0.05) > 1e-9 {
		t.Errorf("ferry/peer: got %v ±%v, want 0.5 ±0.05", x, margin)
	}
	if text := r.Markdown(); !strings.Contains(text, "20.0 (2.00 ±0.2×)") {
		t.Errorf("the table lacks the error:\n%s", text)
	}
	if strings.Contains(r.SVG(), "again") {
		t.Error("the plot shows the A/A row")
	}
}

func TestRunMeasuresAgain(t *testing.T) {
	for _, row := range []struct {
		name   string
		limit  float64
		rounds int
	}{{"decided", 2, 3}, {"undecided", 1.01, 5}} {
		calm := func(c Contender) Contender { // a test runs on a busy machine
			measure := c.Measure
			c.Measure = func(name string, budget time.Duration) (Figures, error) {
				f, err := measure(name, budget)
				f[Foreign] = 0
				return f, err
			}
			return c
		}
		q := Question{
			Name: "ask", Unit: "ns/op", Better: Lower, Cases: []string{"one"},
			Goals: []Goal{AtMost(row.limit, "", func(r *Result) float64 { return r.Ratio("ferry", "peer", "one", "ns/op") })},
			Contenders: []Contender{
				calm(script("ferry", Ferry, 10, 11)), // the second one is the A/A row's
				calm(script("peer", Peer, 10)),
				{Name: "seed", Kind: Seed, Recorded: map[string]Figures{"one": {"ns/op": 500}}},
			},
		}
		r, err := Run(t.Context(), q, Config{Rounds: 3, Most: 5, Budget: time.Microsecond})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, x := range r.Rows {
			names = append(names, x.Name)
		}
		if !slices.Equal(names, []string{"ferry", "peer", "ferry, again", "seed"}) {
			t.Errorf("%s: got the rows %q", row.name, names)
		}
		if r.Rounds.Counted != row.rounds {
			t.Errorf("%s: got %d rounds, want %d", row.name, r.Rounds.Counted, row.rounds)
		}
	}
}

func TestFilesOfTwoMachines(t *testing.T) {
	dir := t.TempDir()
	for _, cpu := range []string{"AMD EPYC", "Intel(R) Xeon(R) CPU @ 2.80GHz", "AMD EPYC", "Intel(R) Xeon(R) CPU @ 2.80GHz"} {
		r := measured(t, example())
		r.Machine.CPU = cpu
		if err := r.WriteFiles(dir); err != nil {
			t.Fatal(err)
		}
	}
	// An earlier harness wrote less of the name.
	r := measured(t, example())
	r.Machine.CPU = "AMD EPYC (family 25, model 17)"
	if err := r.WriteFiles(dir); err != nil {
		t.Fatal(err)
	}
	all, err := ReadResults(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range all {
		got = append(got, r.File+" "+r.Machine.CPU)
	}
	if want := []string{"ask AMD EPYC (family 25, model 17)", "ask@intel-xeon-cpu-2-80ghz Intel(R) Xeon(R) CPU @ 2.80GHz"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "ask.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := all[0].WriteFiles(dir); err == nil {
		t.Error("a broken result was overwritten")
	}
}

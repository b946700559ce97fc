package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// script is a fake contender that returns headlines from a list, one for each round.
func script(name string, kind Kind, values ...float64) Contender {
	i := 0
	return Contender{Name: name, Kind: kind, Version: "v1", Measure: func(string, time.Duration) (Figures, error) {
		v := values[i%len(values)]
		i++
		return Figures{"ns/op": v, "allocs/op": 0}, nil
	}}
}

func example() Question {
	return Question{
		Name: "ask", Title: "Which?", Unit: "ns/op", Better: Lower, Cases: []string{"one"}, Figures: []string{"allocs/op"},
		Contenders: []Contender{
			script("ferry", Ferry, 10, 30, 20),
			script("peer", Peer, 40, 60, 100),
			{Name: "seed", Kind: Seed, Recorded: map[string]Figures{"one": {"ns/op": 500}}},
		},
	}
}

// counted runs q for exactly three rounds. Void rounds count too.
func counted(t *testing.T, q Question) *Result {
	t.Helper()
	var rounds []round
	for range 3 {
		r, err := oneRound(t.Context(), q, time.Microsecond, new(spinTimer))
		if err != nil {
			t.Fatal(err)
		}
		rounds = append(rounds, r)
	}
	r, err := newResult(q, Machine{}, rounds, 3)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResult(t *testing.T) {
	r := counted(t, example())
	ferry := r.Rows[0]
	if ferry.Value != 20 || ferry.Spread != 1 {
		t.Errorf("ferry: got value %v, spread %v, want the median 20, spread 1", ferry.Value, ferry.Spread)
	}
	// The ratios of the rounds are 0.25, 0.5 and 0.2. Ratio returns their median, not the ratio of the medians 20/60.
	if got := r.Ratios["ferry/peer"]; got != 0.25 {
		t.Errorf("ferry/peer: got %v, want 0.25", got)
	}
	if got := r.Ratios["ferry/seed"]; got != 20.0/500 {
		t.Errorf("ferry/seed: got %v, want 0.04", got)
	}
	if got := r.Stat("ferry", "one", "ns/op"); got != (Stat{20, 10, 30}) {
		t.Errorf("stat: got %v", got)
	}
	if got := r.Ratio("ferry", "missing", "one", "ns/op"); !math.IsNaN(got) {
		t.Errorf("ratio to a row that is not there: got %v, want NaN", got)
	}
}

func TestRatioToZero(t *testing.T) {
	if got := counted(t, example()).Ratio("ferry", "peer", "one", "allocs/op"); !math.IsNaN(got) {
		t.Errorf("0/0: got %v, want NaN", got)
	}
}

func TestResultJSON(t *testing.T) {
	text, err := json.Marshal(counted(t, example()))
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"question", "unit", "rows", "ratios", "checks", "machine"} {
		if _, ok := doc[key]; !ok {
			t.Errorf("the result lacks %q", key)
		}
	}
}

func TestGoals(t *testing.T) {
	at := func(v float64) func(*Result) float64 { return func(*Result) float64 { return v } }
	for _, row := range []struct {
		name    string
		goal    Goal
		verdict string
	}{
		{"below the most", AtMost(2, "", at(1)), "yes"},
		{"at the most", AtMost(2, "", at(2)), "yes"},
		{"above the most", AtMost(2, "", at(3)), "no"},
		{"below the least", AtLeast(2, "", at(1)), "no"},
		{"at the least", AtLeast(2, "", at(2)), "yes"},
		{"above the least", AtLeast(2, "", at(3)), "yes"},
		{"not measured", AtLeast(2, "", at(math.NaN())), "open"},
	} {
		if got := row.goal.evaluate(nil).Verdict(); got != row.verdict {
			t.Errorf("%s: got %s, want %s", row.name, got, row.verdict)
		}
	}
}

func TestChecksComeFirst(t *testing.T) {
	q, bad := example(), errors.New("output differs")
	q.Checks = []Check{{"outputs are equal", func() error { return bad }}}
	q.Contenders[0].Measure = func(string, time.Duration) (Figures, error) {
		t.Error("measured though a check failed")
		return nil, nil
	}
	if _, err := Run(t.Context(), q, Config{}); !errors.Is(err, bad) || !strings.Contains(err.Error(), "outputs are equal") {
		t.Errorf("got error %v, want one that names the check and wraps its error", err)
	}
}

func TestPrepare(t *testing.T) {
	q, made := example(), ""
	q.Prepare = func(dir string) error {
		made = dir
		return os.WriteFile(filepath.Join(dir, "tool"), nil, 0o600)
	}
	q.Checks = []Check{{"the tool is there", func() error {
		_, err := os.Stat(filepath.Join(made, "tool"))
		return err
	}}}
	if _, err := Run(t.Context(), q, Config{Rounds: 1, Budget: time.Microsecond}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(made); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was prepared is still there: %v", err)
	}
	q.Prepare = func(string) error { return io.ErrUnexpectedEOF }
	if _, err := Run(t.Context(), q, Config{}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got error %v, want that of Prepare", err)
	}
}

func TestRunRefuses(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*Question)
		want   string
	}{
		{"no cases", func(q *Question) { q.Cases = nil }, "needs a name, a unit, a case"},
		{"no direction", func(q *Question) { q.Better = "" }, "want Lower or Higher"},
		{"same name twice", func(q *Question) { q.Contenders[1].Name = "ferry" }, "two rows are named ferry"},
		{"nothing measured", func(q *Question) { q.Contenders[1].Measure = nil }, "either Measure or Recorded"},
		{"no headline", func(q *Question) { q.Unit = "msg/s" }, "has no msg/s"},
		{"a failing contender", func(q *Question) {
			q.Contenders[1].Measure = func(string, time.Duration) (Figures, error) { return nil, io.ErrUnexpectedEOF }
		}, "peer, one: unexpected EOF"},
	} {
		t.Run(row.name, func(t *testing.T) {
			q := example()
			row.change(&q)
			if _, err := Run(t.Context(), q, Config{Rounds: 1}); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got error %v, want one with %q", err, row.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, example(), Config{}); err == nil {
		t.Error("an interrupted run was no error")
	}
}

func TestRoundsTakeTurns(t *testing.T) {
	var order []string
	turn := func(name string) Contender {
		return Contender{Name: name, Kind: Ferry, Measure: func(c string, _ time.Duration) (Figures, error) {
			order = append(order, name+c)
			return Figures{"ns/op": 1}, nil
		}}
	}
	q := example()
	q.Cases = []string{"1", "2"}
	q.Contenders = []Contender{turn("a"), turn("b")}
	counted(t, q)
	want := strings.Repeat("a1 b1 a2 b2 ", 3)
	if got := strings.Join(order, " ") + " "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestVoidRounds(t *testing.T) {
	c := &spinTimer{best: 100, round: []time.Duration{100, 119, 121, 300}}
	if got := c.endRound(); got != 0.5 {
		t.Errorf("share of slow spins: got %v, want 0.5", got)
	}
	if len(c.round) != 0 {
		t.Error("the next round begins with the spins of the last one")
	}
	rounds := []round{{slow: 0.6}, {slow: 0}, {slow: 0.3}, {slow: 0.1}}
	slows := func(n int) (got []float64) {
		for _, r := range leastDisturbed(rounds, n) {
			got = append(got, r.slow)
		}
		return got
	}
	if got := slows(2); !slices.Equal(got, []float64{0, 0.1}) {
		t.Errorf("the two calm rounds: got %v", got)
	}
	if got := slows(3); !slices.Equal(got, []float64{0, 0.1, 0.3}) {
		t.Errorf("too few calm rounds, so the least disturbed too: got %v", got)
	}
	disturbed, err := newResult(example(), Machine{}, []round{{slow: 0.3, figures: map[string]map[string]Figures{
		"ferry": {"one": {"ns/op": 1}}, "peer": {"one": {"ns/op": 1}},
	}}}, 4)
	if err != nil {
		t.Fatal(err)
	}
	if disturbed.Rounds != (Rounds{Counted: 1, Run: 4, Void: 1}) || !strings.Contains(disturbed.Rounds.String(), "disturbed") {
		t.Errorf("a disturbed run does not say so: %v", disturbed.Rounds)
	}
}

func TestTime(t *testing.T) {
	var kept []byte
	f := Time(func(n int) {
		for range n {
			kept = make([]byte, 1024)
		}
	}, time.Millisecond)
	// The runtime itself allocates a little.
	if len(kept) != 1024 || f[AllocsPerOp] != 1 || f[BytesPerOp] < 1024 || f[BytesPerOp] > 1100 || f[NsPerOp] <= 0 {
		t.Errorf("one allocation of 1024 bytes: got %v", f)
	}
	if got := Parallel(func(n int) { runtime.KeepAlive(xorshift(n)) }, time.Millisecond); got <= 0 {
		t.Errorf("Parallel: got %v", got)
	}
}

func TestMedian(t *testing.T) {
	for want, in := range map[float64][]float64{3: {5, 3, 1}, 2.5: {4, 1, 2, 3}, 7: {7}} {
		if got := median(in); got != want {
			t.Errorf("median of %v: got %v, want %v", in, got, want)
		}
	}
}

func TestMarkdown(t *testing.T) {
	text := counted(t, example()).Markdown()
	for _, want := range []string{
		"# ask: Which?\n", "| row | kind | version | one |\n|---|---|---|--:|\n| ferry | ferry | v1 | 20.0 |\n| peer | peer | v1 | 60.0 (3.00×) |\n",
		"**allocs/op**", "`make bench Q=ask`", "Medians of 3 interleaved rounds out of 3.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
}

func TestSVG(t *testing.T) {
	q := example()
	q.Title = "a < b & c"
	picture := counted(t, q).SVG()
	for dec := xml.NewDecoder(bytes.NewReader([]byte(picture))); ; {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("not XML: %v\n%s", err, picture)
		}
	}
	if got := strings.Count(picture, "<rect"); got != 3 {
		t.Errorf("got %d bars, want 3", got)
	}
	if !strings.Contains(picture, "ns/op, logarithmic (lower is better)") {
		t.Error("the axis has no label")
	}
}

func TestLogAxis(t *testing.T) {
	for _, row := range []struct{ low, high, at, want float64 }{
		{3, 20000, 1, labelEdge},
		{3, 20000, 100000, rightEdge},
		{10, 1000, 100, labelEdge + (rightEdge-labelEdge)*2.0/3}, // even the smallest bar is visible
		{5, 5, 10, rightEdge},
	} {
		if got := newLogAxis(row.low, row.high).at(row.at); math.Abs(got-row.want) > 1e-6 {
			t.Errorf("%v to %v: %v is at %v, want %v", row.low, row.high, row.at, got, row.want)
		}
	}
}

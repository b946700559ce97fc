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

// idle is a reader of the CPU use on a machine that does nothing else.
func idle() (Usage, error) { return Usage{}, errors.New("not read") }

// measured runs q for three rounds, without an A/A row.
func measured(t *testing.T, q Question) *Result {
	t.Helper()
	r, err := newResult(q, Machine{}, rounds(t, q, 3))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func rounds(t *testing.T, q Question, n int) (all []round) {
	t.Helper()
	turns := &turns{q: q, budget: time.Microsecond, usage: idle}
	for i := range n {
		r, err := turns.measureRound(t.Context(), i%2 == 1)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func TestResult(t *testing.T) {
	r := measured(t, example())
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
	if got := r.Stat("ferry", "one", "ns/op"); got != (Stat{Median: 20, Min: 10, Max: 30}) {
		t.Errorf("stat: got %v", got)
	}
	if got := r.Ratio("ferry", "missing", "one", "ns/op"); !math.IsNaN(got) {
		t.Errorf("ratio to a row that is not there: got %v, want NaN", got)
	}
}

func TestRatioToZero(t *testing.T) {
	if got := measured(t, example()).Ratio("ferry", "peer", "one", "allocs/op"); !math.IsNaN(got) {
		t.Errorf("0/0: got %v, want NaN", got)
	}
}

func TestResultJSON(t *testing.T) {
	text, err := json.Marshal(measured(t, example()))
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
		{"nothing measured", func(q *Question) { q.Contenders[1].Measure = nil }, "either Measure, Open or Recorded"},
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
	measured(t, q)
	want := "a1 b1 a2 b2 b1 a1 b2 a2 a1 b1 a2 b2 " // every second round begins with the last row
	if got := strings.Join(order, " ") + " "; got != want {
		t.Errorf("got %q, want %q", got, want)
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
	if got := Parallel(func(n int) { runtime.KeepAlive(make([]byte, n)) }, time.Millisecond); got <= 0 {
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
	text := measured(t, example()).Markdown()
	for _, want := range []string{
		"# ask: Which?\n", "| row | kind | version | one |\n|---|---|---|--:|\n| ferry | ferry | v1 | 20.0 |\n| peer | peer | v1 | 60.0 (4.00 ±2.10×) |\n",
		"**allocs/op**", "`make bench Q=ask`", "Medians of 3 rounds, measured in turns.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
}

func TestSVG(t *testing.T) {
	q := example()
	q.Title = "a < b & c"
	picture := measured(t, q).SVG()
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

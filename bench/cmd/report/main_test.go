package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry/bench/internal/harness"
)

func TestReport(t *testing.T) {
	dir := t.TempDir()
	if err := run(dir); err == nil || !strings.Contains(err.Error(), "make bench") {
		t.Errorf("no results: got error %v, want one that names make bench", err)
	}
	measure := func(ns float64) func(string, time.Duration) (harness.Figures, error) {
		return func(string, time.Duration) (harness.Figures, error) { return harness.Figures{"ns/op": ns}, nil }
	}
	r, err := harness.Run(t.Context(), harness.Question{
		Name: "ask", Title: "Is 1 < 2?", Unit: "ns/op", Better: harness.Lower, Cases: []string{"only"},
		Checks: []harness.Check{{Name: "numbers are numbers", Run: func() error { return nil }}},
		Contenders: []harness.Contender{
			{Name: "ferry", Kind: harness.Ferry, Measure: measure(10)},
			{Name: "peer <1>", Kind: harness.Peer, Measure: measure(40)},
		},
		Goals: []harness.Goal{harness.AtMost(0.5, "times the peer", func(r *harness.Result) float64 {
			return r.Ratio("ferry", "peer <1>", "only", "ns/op")
		})},
	}, harness.Config{Rounds: 3})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.WriteFiles(dir); err != nil {
		t.Fatal(err)
	}
	if err := run(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Is 1 &lt; 2?", "peer &lt;1&gt;", "40.0 (4.00×)", `<a href="#ask">ask</a></td><td class="text">times the peer</td><td>≤ 0.5</td><td>0.25</td><td class="yes">yes</td>`, "<svg", "numbers are numbers", "247 of 12 583 310 bytes",
		`<td class="yes">yes</td>`, "≤ 0.5", "make bench Q=ask",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, never := range []string{"<1>", "http://", "https://"} {
		if strings.Contains(strings.ReplaceAll(string(text), "http://www.w3.org/2000/svg", ""), never) {
			t.Errorf("the page has %q: unescaped, or not self-contained", never)
		}
	}
}

// Results of two CPU models share a line of the first table.
func TestTwoMachines(t *testing.T) {
	goal := func(v float64) []harness.GoalResult {
		return []harness.GoalResult{{Text: "times the peer", Asked: "≤ 1", Measured: &v, Error: 0.1, Met: v < 0.9, Undecided: v >= 0.9}}
	}
	all := []*harness.Result{
		{File: "ask", Question: "ask", Machine: harness.Machine{CPU: "one"}, Goals: goal(0.5)},
		{File: "ask@two", Question: "ask", Machine: harness.Machine{CPU: "two"}, Goals: goal(0.95)},
	}
	lines := summarize(all)
	if len(lines) != 1 || len(lines[0].Measured) != 2 || lines[0].Measured[1].CPU != "two" {
		t.Fatalf("got %+v, want one line with two entries", lines)
	}
	var page strings.Builder
	if err := write(&page, all); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`1 are met, 0 are missed, and 1 are undecided`, `<td>0.5 ±0.1</td><td class="yes">yes</td>`, `<td>0.95 ±0.1</td><td class="undecided">undecided</td><td class="text soft">two</td>`, `<section id="ask@two">`} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

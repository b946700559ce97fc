package harness

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var lines = Chart{
	Name: "times", Title: "a < b", X: "x", Y: "ms", LogY: true,
	XTicks: []Tick{{0, "none"}, {4, "<all>"}},
	Lines:  []Line{{Name: "this & that", Points: [][2]float64{{0, 1}, {2, 0}, {4, 1000}}}, {Name: "flat", Points: [][2]float64{{1, 10}}}},
}

func TestChart(t *testing.T) {
	linear := lines
	linear.LogY = false
	for _, c := range []Chart{lines, linear, {}, {Lines: []Line{{}}}} {
		picture := c.lines()
		for dec := xml.NewDecoder(strings.NewReader(picture)); ; {
			if _, err := dec.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("not XML: %v\n%s", err, picture)
			}
		}
		if got := strings.Count(picture, "<polyline"); got != len(c.Lines) {
			t.Errorf("got %d lines, want %d", got, len(c.Lines))
		}
		if strings.Contains(picture, "NaN") || strings.Contains(picture, "Inf") {
			t.Errorf("a point that is nowhere:\n%s", picture)
		}
	}
}

// TestBars: a bar plot of a figure has the rows that have it.
func TestBars(t *testing.T) {
	r := measured(t, example())
	c := Chart{Name: "allocs", Title: "Memory & <more>", Bars: "ns/op", Better: Higher}
	picture := r.ChartSVG(&c)
	if got := strings.Count(picture, "<rect"); got != 3 || !strings.Contains(picture, "higher is better") || !strings.Contains(picture, "Memory &amp; &lt;more&gt;") {
		t.Errorf("got %d bars:\n%s", got, picture)
	}
	if got := r.ChartSVG(&lines); got != lines.lines() {
		t.Errorf("a line plot: got %s", got)
	}
}

func TestScale(t *testing.T) {
	for _, row := range []struct {
		name  string
		log   bool
		hold  []float64
		ticks []float64
		v, at float64
	}{
		{"from 0", false, []float64{0, 2}, []float64{0, 0.5, 1, 1.5, 2}, 1, 50},
		{"rounded up", false, []float64{0, 7.3}, []float64{0, 1, 2, 3, 4, 5, 6, 7, 8}, 2, 25},
		{"one value", false, []float64{0}, []float64{-1, -0.5, 0, 0.5, 1}, 0, 50},
		{"powers of ten", true, []float64{2, 500, 0}, []float64{1, 10, 100, 1000}, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newScale(0, 100, row.log)
			for _, v := range row.hold {
				s.include(v)
			}
			s.addTicks()
			if !slices.Equal(s.ticks, row.ticks) || s.at(row.v) != row.at {
				t.Errorf("ticks %v, %v at %v; want %v, at %v", s.ticks, row.v, s.at(row.v), row.ticks, row.at)
			}
		})
	}
}

func TestChartsAreWritten(t *testing.T) {
	q := example()
	q.Charts = func(*Result) ([]Chart, error) { return []Chart{lines}, nil }
	r, err := Run(t.Context(), q, Config{Rounds: 1, Budget: time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := r.WriteFiles(dir); err != nil {
		t.Fatal(err)
	}
	picture, err := os.ReadFile(filepath.Join(dir, "ask-times.svg"))
	if err != nil || string(picture) != lines.lines() {
		t.Errorf("%v, got %s", err, picture)
	}
	text, err := os.ReadFile(filepath.Join(dir, "ask.json"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseResult(text)
	if err != nil || len(again.Charts) != 1 || again.Charts[0].lines() != lines.lines() {
		t.Errorf("read back: %v, %v", err, again.Charts)
	}
	q.Charts = func(*Result) ([]Chart, error) { return nil, io.ErrUnexpectedEOF }
	if _, err := Run(t.Context(), q, Config{Rounds: 1, Budget: time.Microsecond}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want the charts' error", err)
	}
}

func TestGrowth(t *testing.T) {
	at := func(ns float64) map[string]Stat { return map[string]Stat{NsPerOp: {Median: ns}} }
	r := Result{Unit: NsPerOp, Rows: []Row{
		{Name: "both", Cases: map[string]map[string]Stat{"one": at(5), "hundred": at(50)}},
		{Name: "not both", Cases: map[string]map[string]Stat{"one": at(7)}},
	}}
	c := r.Growth("n", "Growth", "items", []Tick{{1, "one"}, {100, "hundred"}})
	if want := []Tick{{0, "one"}, {2, "hundred"}}; !slices.Equal(c.XTicks, want) {
		t.Errorf("ticks %v, want %v", c.XTicks, want)
	}
	if want := [][2]float64{{0, 5}, {2, 50}}; len(c.Lines) != 1 || c.Lines[0].Name != "both" || !slices.Equal(c.Lines[0].Points, want) {
		t.Errorf("lines %v, want one of both with %v", c.Lines, want)
	}
}

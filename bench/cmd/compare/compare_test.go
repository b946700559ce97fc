package main

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/ferry/bench/internal/harness"
)

// script is a fake version that returns headlines from a list. A negative headline means that the measurement fails.
type script struct {
	values   []float64
	measured int
	calls    *string // the names of the versions, in the order of their measurements
	name     string
}

func (s *script) measure(_, name string) (headline float64, ok bool, err error) {
	if name == "absent" {
		return 0, false, nil
	}
	*s.calls += s.name
	v := s.values[s.measured%len(s.values)]
	s.measured++
	if v < 0 {
		return 0, false, errors.New("no backend")
	}
	return v, true, nil
}

func TestCompare(t *testing.T) {
	for _, row := range []struct {
		name       string
		better     harness.Better
		base, head []float64
		want       verdict
		ratio      float64
		rounds     int
	}{
		{"the same", harness.Lower, []float64{10}, []float64{10}, within, 1, 3},
		{"faster", harness.Lower, []float64{10}, []float64{5}, within, 0.5, 3},
		{"slower", harness.Lower, []float64{10, 20, 30}, []float64{11, 22, 33}, exceeds, 1.1, 3},
		{"fewer a second", harness.Higher, []float64{11}, []float64{10}, exceeds, 1.1, 3},
		{"noise", harness.Lower, []float64{10}, []float64{8, 8, 8, 8, 8, 10, 10, 10, 10, 10, 12, 12, 12, 12, 12}, undecided, 1, 6},
		{"base has none", harness.Lower, []float64{0}, []float64{1}, exceeds, math.Inf(1), 3},
		{"neither has any", harness.Lower, []float64{0}, []float64{0}, within, 1, 3},
		{"fails once", harness.Lower, append([]float64{-1}, slices.Repeat([]float64{10}, 99)...), []float64{10}, within, 1, 3},
		{"fails", harness.Lower, []float64{10}, []float64{-1}, notMeasured, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			inventory := harness.Inventory{Question: "ask", Unit: "ns/op", Better: row.better, Rows: []string{"ferry"}, Cases: []string{"one", "absent"}}
			f, err := newFilter("", "")
			if err != nil {
				t.Fatal(err)
			}
			c, err := newComparison(inventory, inventory, f)
			if err != nil {
				t.Fatal(err)
			}
			calls := ""
			base := &script{values: row.base, calls: &calls, name: "b"}
			head := &script{values: row.head, calls: &calls, name: "h"}
			if err := c.measure(t.Context(), settings{rounds: 3, most: 6, limit: 1.02}, base, head); err != nil {
				t.Fatal(err)
			}
			p := c.pairs[0]
			if got := p.verdict(row.better, 1.02); got != row.want || len(p.base) != row.rounds {
				t.Errorf("got %s after %d rounds, want %s after %d", got, len(p.base), row.want, row.rounds)
			}
			if row.want != notMeasured {
				if got, _ := p.ratio(row.better); got != row.ratio {
					t.Errorf("got the ratio %v, want %v", got, row.ratio)
				}
			}
			if worse := row.want == exceeds || row.want == notMeasured; c.worse(1.02) != worse {
				t.Errorf("worse: got %v, want %v", !worse, worse)
			}
			if table := c.table("v1", 1.02); !strings.Contains(table, string(row.want)) || strings.Contains(table, "absent") {
				t.Errorf("want %q and no case without measurements in\n%s", row.want, table)
			}
			if row.rounds == 3 && !strings.HasPrefix(calls, "bhhbbhhbbh"+"hbbhhbbhhb") && !strings.HasPrefix(row.name, "fails") {
				t.Errorf("measured in the order %s, want bh, hb in turns, and the next round hb first", calls)
			}
		})
	}
}

func TestNewComparison(t *testing.T) {
	base := harness.Inventory{Question: "ask", Unit: "ns/op", Better: harness.Lower, Rows: []string{"a", "b", "gone"}, Cases: []string{"1", "2"}}
	head := base
	head.Rows = []string{"new", "b", "a"}
	f, err := newFilter("^[ab]", "2")
	if err != nil {
		t.Fatal(err)
	}
	c, err := newComparison(base, head, f)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.pairs) != 2 || c.pairs[0].row != "b" || c.pairs[1].row != "a" || c.pairs[0].name != "2" {
		t.Errorf("got %+v, want b and a in case 2", c.pairs)
	}
	head.Unit = "µs/op"
	if _, err := newComparison(base, head, f); err == nil {
		t.Error("figures of two units are compared")
	}
	if _, err := newComparison(base, base, filter{f.rows, f.rows}); err == nil {
		t.Error("a comparison of nothing is no error")
	}
	if _, err := newFilter("(", ""); err == nil || !strings.Contains(err.Error(), "-rows") {
		t.Errorf("got %v, want an error that names -rows", err)
	}
}

func TestCheckout(t *testing.T) {
	if _, err := checkout(t.TempDir(), "no-such-tag"); err == nil || !strings.Contains(err.Error(), "no-such-tag is no commit or tag here") {
		t.Errorf("got %v, want an error that names the tag", err)
	}
	trees, err := checkout(t.TempDir(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "bench/go.mod", "bench/internal/harness/serve.go"} {
		if _, err := os.Stat(filepath.Join(trees.base, name)); err != nil {
			t.Error(err)
		}
	}
}

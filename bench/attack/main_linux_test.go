package main

import (
	"os"
	"slices"
	"testing"

	"example.com/ferry/bench/internal/attacker"
	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/harnesstest"
	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/keepalive"
)

func TestMain(m *testing.M) {
	keepalive.Main()
	httpproxy.Main()
	attacker.Main()
	os.Exit(m.Run())
}

func TestQuestion(t *testing.T) {
	e := newExperiment()
	e.contenders = slices.DeleteFunc(e.contenders, func(c contender) bool { return c.kind == harness.Peer && c.name != "HAProxy" })
	q := e.question()
	q.Cases = []string{noAttack, string(attacker.RapidReset)} // the check runs the others too
	q.Plot = q.Cases
	harnesstest.Run(t, q)
}

func TestTimesBest(t *testing.T) {
	row := func(name string, kind harness.Kind, ms, failed float64) harness.Row {
		at := func(v float64) harness.Stat { return harness.Stat{Median: v, Min: v, Max: v} }
		return harness.Row{Name: name, Kind: kind, Cases: map[string]map[string]harness.Stat{noAttack: {p99: at(ms), failures: at(failed)}}}
	}
	r := &harness.Result{Rows: []harness.Row{
		row(ferryRow, harness.Ferry, 2, 0), row("a", harness.Peer, 4, 0), row("b", harness.Peer, 1, 0), row("fast and wrong", harness.Peer, 0.1, 3),
	}}
	if got := timesBest(r, noAttack); got != 2 {
		t.Errorf("got %v, want 2: the best peer without failures has 1 ms", got)
	}
}

package main

import (
	"os"
	"slices"
	"testing"
	"time"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/harnesstest"
	"example.com/ferry/bench/internal/openloop"
)

func TestMain(m *testing.M) {
	openloop.Main()
	playRole()
	os.Exit(m.Run())
}

func TestQuestion(t *testing.T) {
	q := newExperiment(100 * time.Millisecond).question()
	q.Disturbed = nil // a test runs on a busy machine; see TestDisturbed
	q.Contenders = slices.DeleteFunc(q.Contenders, func(c harness.Contender) bool {
		// The checks start all of them.
		return !slices.Contains([]string{alone, plain, ferryPool, idleWorker, cpuworker}, c.Name)
	})
	harnesstest.Run(t, q)
}

func TestDisturbed(t *testing.T) {
	for _, row := range []struct {
		name string
		f    harness.Figures
		want bool
	}{
		{"in time", harness.Figures{late99: 0.5, p99: 1000}, false},
		{"a late generator", harness.Figures{late99: 0.51}, true},
	} {
		if got := disturbed(row.f); got != row.want {
			t.Errorf("%s: got %v, want %v", row.name, got, row.want)
		}
	}
}

package main

import (
	"slices"
	"testing"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/harnesstest"
)

// TestQuestion has two cases, and nginx as the only peer.
func TestQuestion(t *testing.T) {
	e := newExperiment()
	e.systems = slices.DeleteFunc(e.systems, func(s system) bool { return s.name != ferryName && s.name != "nginx" })
	q := e.question()
	q.Cases = []string{kept, streamTCP}
	q.Disturbed = func(harness.Figures) bool { return false }
	harnesstest.Run(t, q)
}

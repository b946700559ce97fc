package main

import (
	"strings"
	"testing"

	"example.com/ferry/bench/internal/harnesstest"
)

// TestQuestion has fewer routes: a node with 10,000 needs seconds to start on a busy machine.
func TestQuestion(t *testing.T) {
	all := numbers
	defer func() { numbers = all }()
	numbers = []int{10, 300}
	harnesstest.Run(t, question())
}

// TestCheckSeesFaults: a finder that always finds the same route is detected.
func TestCheckSeesFaults(t *testing.T) {
	if err := checkFinder(func([]byte) string { return other }, 10, 20); err == nil || !strings.Contains(err.Error(), `want "device-0"`) {
		t.Errorf("got %v", err)
	}
}

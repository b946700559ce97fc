package main

import (
	"os"
	"testing"

	"example.com/ferry/bench/internal/durable"
	"example.com/ferry/bench/internal/harnesstest"
)

func TestMain(m *testing.M) {
	durable.Main()
	os.Exit(m.Run())
}

// TestQuestion runs two cases: three replicas with sync always take a loaded machine a minute.
func TestQuestion(t *testing.T) {
	harnesstest.Run(t, question([]variant{{"1 replica", 1, true, 256}, {"3 replicas", 3, false, 1 << 10}}))
}

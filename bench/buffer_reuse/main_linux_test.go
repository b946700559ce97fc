package main

import (
	"os"
	"runtime"
	"testing"

	"example.com/ferry/bench/internal/boltload"
	"example.com/ferry/bench/internal/harnesstest"
)

func TestMain(m *testing.M) {
	boltload.Main()
	os.Exit(m.Run())
}

func TestQuestion(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("needs two cores: one for the proxy and one for the load")
	}
	at, err := boltload.Unused()
	if err != nil {
		t.Fatal(err)
	}
	q := newExperiment(at).question()
	q.Disturbed = nil // a test's machine is
	harnesstest.Run(t, q)
}

package main

import (
	"os"
	"testing"

	"example.com/ferry/bench/internal/boltload"
	"example.com/ferry/bench/internal/harnesstest"
	"example.com/ferry/internal/needs"
)

func TestMain(m *testing.M) {
	boltload.Main()
	os.Exit(m.Run())
}

func TestQuestion(t *testing.T) {
	needs.Cores(t, 2) // one for the proxy and one for the load
	at, err := boltload.Unused()
	if err != nil {
		t.Fatal(err)
	}
	q := newExperiment(at).question()
	harnesstest.Run(t, q)
}

package main

import (
	"os"
	"testing"

	"example.com/ferry/bench/internal/harnesstest"
	"example.com/ferry/internal/needs"
)

func TestMain(m *testing.M) {
	benthosMain()
	os.Exit(m.Run())
}

func TestQuestion(t *testing.T) {
	needs.Cores(t, 2) // one for the server and one for the load
	needs.Program(t, "nginx")
	harnesstest.Run(t, question())
}

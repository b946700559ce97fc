package main

import (
	"testing"

	"example.com/ferry/bench/internal/harnesstest"
	"example.com/ferry/internal/needs"
)

func TestQuestion(t *testing.T) {
	needs.Cores(t, 2) // one for the node and one for the devices
	harnesstest.Run(t, newExperiment(300).question())
}

package main

import (
	"os"
	"testing"

	"example.com/ferry/bench/internal/device"
	"example.com/ferry/bench/internal/harnesstest"
	"example.com/ferry/internal/needs"
)

func TestMain(m *testing.M) {
	device.Main()
	os.Exit(m.Run())
}

func TestQuestion(t *testing.T) {
	needs.Cores(t, 2) // one for the node and one for the devices
	q := new(experiment).question()
	q.Cases = q.Cases[:1] // the check runs all of them
	harnesstest.Run(t, q)
}

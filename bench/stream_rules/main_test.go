package main

import (
	"os"
	"testing"

	"example.com/ferry/bench/internal/atree"
	"example.com/ferry/bench/internal/harnesstest"
)

func TestMain(m *testing.M) {
	natsMain()
	os.Exit(m.Run())
}

func TestQuestion(t *testing.T) {
	harnesstest.Run(t, question(setups([]int{50})[:2], atree.Program.Path() != ""))
}

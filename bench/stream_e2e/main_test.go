package main

import (
	"os"
	"testing"

	"example.com/ferry/bench/internal/crossing"
	"example.com/ferry/bench/internal/harnesstest"
)

func TestMain(m *testing.M) {
	crossing.Main()
	os.Exit(m.Run())
}

func TestQuestion(t *testing.T) { harnesstest.Run(t, question()) }

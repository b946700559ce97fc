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

func TestQuestion(t *testing.T) { harnesstest.Run(t, question(false)) }

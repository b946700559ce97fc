package main

import (
	"os"
	"testing"

	"example.com/ferry/bench/internal/harnesstest"
	"example.com/ferry/bench/internal/pubsub"
)

func TestMain(m *testing.M) {
	pubsub.Main()
	os.Exit(m.Run())
}

func TestQuestion(t *testing.T) { harnesstest.Run(t, question()) }

package main

import (
	"os"
	"testing"

	"example.com/ferry/bench/internal/harnesstest"
	"example.com/ferry/bench/internal/rpcload"
)

func TestMain(m *testing.M) {
	rpcload.Main(rpcload.TailSystems())
	os.Exit(m.Run())
}

func TestQuestion(t *testing.T) { harnesstest.Run(t, newExperiment().question()) }

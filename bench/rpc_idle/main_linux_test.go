package main

import (
	"os"
	"testing"

	"example.com/ferry/bench/internal/harnesstest"
	"example.com/ferry/bench/internal/rpcload"
)

func TestMain(m *testing.M) {
	rpcload.Main(rpcload.IdleSystems())
	os.Exit(m.Run())
}

func TestQuestion(t *testing.T) { harnesstest.Run(t, newExperiment(200).question()) }

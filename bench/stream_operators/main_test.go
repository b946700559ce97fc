package main

import (
	"testing"

	"example.com/ferry/bench/internal/harnesstest"
)

func TestQuestion(t *testing.T) { harnesstest.Run(t, question()) }

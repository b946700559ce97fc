package memory_test

import (
	"testing"

	"example.com/ferry/engine/enginetest"
	"example.com/ferry/engine/memory"
)

func TestEngine(t *testing.T) {
	enginetest.Run(t, func(*testing.T) enginetest.Fixture { return enginetest.Fixture{Engine: memory.New()} })
}

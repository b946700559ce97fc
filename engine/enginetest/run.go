package enginetest

import (
	"context"
	"testing"
	"time"

	"example.com/ferry/engine"
)

// Fixture is an engine without streams.
type Fixture struct {
	Engine engine.Engine

	// Restart closes Engine and returns one on the same storage, as a new process would. It is nil if the engine is not durable.
	Restart func(t *testing.T) engine.Engine

	// Second returns an engine on the same storage, as another process would at the same time. It is nil if there is no such engine.
	Second func(t *testing.T) engine.Engine
}

// timeout bounds each step. In a correct engine a step needs milliseconds.
const timeout = 60 * time.Second

// Run tests the engine of the Fixtures that open returns. Each subtest has its own.
func Run(t *testing.T, open func(*testing.T) Fixture) {
	for _, part := range []struct {
		name string
		test func(*testing.T, Fixture)
	}{
		{"RecordsComeBackAsAppended", testRoundTrip},
		{"AppendCopies", testAppendCopies},
		{"DoneInOrder", testDoneInOrder},
		{"AppendsOverlap", testAppendsOverlap},
		{"RefusedRecords", testRefusedRecords},
		{"Duplicates", testDuplicates},
		{"IDsOfTags", testIDsOfTags},
		{"DuplicateWindowEnds", testDuplicateWindow},
		{"NextIsBounded", testNextBounds},
		{"NextWaits", testNextWaits},
		{"StartKinds", testStartKinds},
		{"Filters", testFilters},
		{"UnusualTags", testUnusualTags},
		{"ManyTags", testManyTags},
		{"PositionsOutliveTheOpener", testPositions},
		{"LastCommitCounts", testLastCommit},
		{"LongPositions", testLongPosition},
		{"NamedCursorKeepsConfig", testKeptConfig},
		{"SecondOpenerWaits", testSecondOpener},
		{"SecondProcessWaits", testSecondProcess},
		{"DeletedCursor", testDeletedCursor},
		{"CreatedCursor", testCreatedCursor},
		{"Newest", testNewest},
		{"Get", testGet},
		{"Remove", testRemove},
		{"Purge", testPurge},
		{"RetentionByRecords", testMaxRecords},
		{"RetentionByBytes", testMaxBytes},
		{"RetentionByTag", testMaxPerTag},
		{"RetentionByAge", testMaxAge},
		{"RetentionChanges", testReconfigure},
		{"UnsupportedConfigs", testUnsupported},
		{"InvalidConfigs", testInvalid},
		{"OpensShareTheStream", testSharedOpen},
		{"ListAndDelete", testListAndDelete},
		{"CloseWaitsForAppends", testClose},
		{"Restart", testRestart},
		{"Archive", testArchive},
	} {
		t.Run(part.name, func(t *testing.T) {
			f := open(t)
			part.test(t, f)
			if err := f.Engine.Close(deadline(t)); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
}

// deadline returns a context for one step.
func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(cancel)
	return ctx
}

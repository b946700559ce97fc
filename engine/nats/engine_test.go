package nats_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"example.com/ferry/engine"
	"example.com/ferry/engine/enginetest"
	"example.com/ferry/engine/nats"
)

// Records are stored in atomic batches with SyncAlways, and one by one with SyncInterval.
func TestEmbedded(t *testing.T) {
	for _, sync := range []engine.Sync{engine.SyncAlways, engine.SyncInterval} {
		t.Run(sync.String(), func(t *testing.T) { testEmbedded(t, sync) })
	}
}

func testEmbedded(t *testing.T, sync engine.Sync) {
	enginetest.Run(t, func(t *testing.T) enginetest.Fixture {
		config := nats.EmbeddedConfig{Dir: t.TempDir(), Sync: sync, Log: slog.New(slog.DiscardHandler)}
		e := embedded(t, config)
		f := enginetest.Fixture{Engine: e}
		f.Restart = func(t *testing.T) engine.Engine {
			if err := e.Close(context.Background()); err != nil {
				t.Fatalf("Close: %v", err)
			}
			return embedded(t, config)
		}
		return f
	})
}

// embedded starts an engine and closes it when the test ends.
func embedded(t *testing.T, c nats.EmbeddedConfig) *nats.Engine {
	t.Helper()
	e, err := nats.Embedded(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return e
}

package file_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"example.com/ferry/engine"
	"example.com/ferry/engine/enginetest"
	"example.com/ferry/engine/file"
)

func TestEngine(t *testing.T) {
	for _, sync := range []engine.Sync{engine.SyncAlways, engine.SyncInterval} {
		t.Run(sync.String(), func(t *testing.T) {
			enginetest.Run(t, func(t *testing.T) enginetest.Fixture {
				config := file.Config{Dir: t.TempDir(), Sync: sync}
				e := open(t, config)
				f := enginetest.Fixture{Engine: e}
				f.Restart = func(t *testing.T) engine.Engine {
					shut(t, e)
					return open(t, config)
				}
				return f
			})
		})
	}
}

// open opens an engine and closes it when the test ends.
func open(t testing.TB, c file.Config) *file.Engine {
	t.Helper()
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	e, err := file.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, e) })
	return e
}

func shut(t testing.TB, e *file.Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := e.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
}

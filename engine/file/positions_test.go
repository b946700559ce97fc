package file

import (
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/engine"
)

// TestPositionsAreSyncedWhileTheyChange: a position is on the disk soon, though another one comes before that.
func TestPositionsAreSyncedWhileTheyChange(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "streams")
	synctest.Test(t, func(t *testing.T) {
		e, err := Open(Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = e.Close(t.Context()) }()
		s, err := e.Open(t.Context(), engine.Config{Name: "s", Tags: []string{"#"}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Cursor(t.Context(), engine.CursorConfig{Name: "c"})
		if err != nil {
			t.Fatal(err)
		}
		p := &e.streams["s"].positions
		synced := 0
		for i := range 20 {
			c.Commit(engine.Position{Floor: uint64(i + 1)})
			time.Sleep(positionsSync / 2)
			synctest.Wait()
			p.mu.Lock()
			if p.synced {
				synced++
			}
			p.mu.Unlock()
		}
		if synced < 5 {
			t.Errorf("the positions were on the disk at %d of 20 times", synced)
		}
	})
}

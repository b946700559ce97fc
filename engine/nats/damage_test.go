package nats

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"example.com/ferry/engine"
)

// A bit of a block flips while the server is stopped. The cursor reports the record, and serves all others.
func TestDamagedRecordsAreReported(t *testing.T) {
	for _, row := range []struct{ name, filter string }{
		{"all tags", ""},
		{"a filter", "orders/a"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			o := serverOptions(t, "alone")
			srv, address := startServer(t, o)
			r := rigAt(t, address)
			const records = 4000 // three blocks
			r.await(r.append(0, records, 4000))
			if err := r.e.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			srv.Shutdown()
			srv.WaitForShutdown()
			damage(t, o.StoreDir)

			r = rigAt(t, startWith(t, o))
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			c, err := r.s.Cursor(ctx, engine.CursorConfig{Filter: row.filter, Start: engine.Start{At: engine.AtFirst}})
			if err != nil {
				t.Fatal(err)
			}
			served, reported := uint64(0), uint64(0)
			for served+reported < records {
				got, err := c.Next(ctx, 100, 1<<20)
				var corrupt *engine.CorruptError
				switch {
				case errors.As(err, &corrupt):
					t.Log(err)
					state, err := r.s.(*stream).state(ctx)
					if err != nil {
						t.Fatal(err)
					}
					reported++
					for _, lost := range state.lost() {
						reported += lost.Count - 1
					}
				case err != nil:
					t.Fatalf("Next after %d records and %d reported ones: %v", served, reported, err)
				}
				served += uint64(len(got))
			}
			if reported == 0 || served+reported != records {
				t.Errorf("%d records are served and %d reported, want %d in all", served, reported, records)
			}
		})
	}
}

// damage flips a bit in the middle of the first block of the stream.
func damage(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, "jetstream", "$G", "streams", "ferry-orders", "msgs", "1.blk")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

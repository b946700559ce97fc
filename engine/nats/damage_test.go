package nats

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"example.com/ferry/engine"
)

// A bit of a block flips while the engine is stopped. The cursor reports the record, or those that the server has cut off, and
// serves all others.
func TestDamagedRecordsAreReported(t *testing.T) {
	for _, row := range []struct {
		name, filter string
		index        bool // the server has an index of the block, as after a clean end
	}{
		{"with index", "", true},
		{"with index and a filter", "orders/a", true},
		{"without index", "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			config := EmbeddedConfig{Dir: t.TempDir(), Sync: engine.SyncInterval}
			r := newRig(t, config)
			const records = 4000 // three blocks
			r.await(r.append(0, records, 4000))
			r.close()
			damage(t, config.Dir, row.index)

			r = newRig(t, config)
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
					for _, lost := range r.s.(*stream).lost(state) {
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
func damage(t *testing.T, dir string, index bool) {
	t.Helper()
	messages := blockDir(dir)
	damageFile(t, filepath.Join(messages, "1.blk"))
	if !index {
		if err := os.Remove(filepath.Join(messages, "index.db")); err != nil {
			t.Fatal(err)
		}
	}
}

func blockDir(dir string) string {
	return filepath.Join(dir, "jetstream", "$G", "streams", "ferry-orders", "msgs")
}

// damageFile flips a bit in the middle.
func damageFile(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLedgerFindsWhatIsLost(t *testing.T) {
	config := EmbeddedConfig{Dir: t.TempDir(), Sync: engine.SyncInterval}
	r := newRig(t, config)
	r.await(r.append(0, 20, 10))
	for _, sequence := range []uint64{3, 7} {
		if err := r.s.Remove(t.Context(), sequence); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.s.Purge(t.Context(), "orders/+", 3); err != nil {
		t.Fatal(err)
	}
	r.close()
	r = newRig(t, config)
	if e := r.e.host.ledger.entry("orders"); e.Last != 20 || len(e.Lost) != 0 {
		t.Errorf("after a clean end the ledger has %+v", e)
	}
	r.e.host.ledger.update("orders", func(e *ledgerEntry) { e.Last, e.Removed = 25, e.Removed.without(ranges{{First: 7, Count: 1}}) })
	r.close()
	r = newRig(t, config)
	e := r.e.host.ledger.entry("orders")
	if want := (ranges{{First: 7, Count: 1}}); e.Last != 20 || len(e.Lost) != 1 || e.Lost[0] != want[0] {
		t.Errorf("the ledger has %+v, want the last record 20 and 7 lost", e)
	}
}

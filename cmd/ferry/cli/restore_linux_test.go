package cli

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry/engine"
	"example.com/ferry/engine/archive"
	"example.com/ferry/engine/file"
	"example.com/ferry/internal/disktest"
	"example.com/ferry/node/backup"
	"example.com/ferry/node/config"
)

// TestRestoreIsSynced: the power fails right after ferry restore has ended. Nothing of what it has restored is lost.
func TestRestoreIsSynced(t *testing.T) {
	t.Parallel()
	disk := disktest.Mount(t, disktest.Config{})
	store, err := file.Open(file.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(t.Context())
	orders, err := store.Open(t.Context(), engine.Config{Name: "orders", Tags: []string{"orders/#"}})
	if err != nil {
		t.Fatal(err)
	}
	stored := make(chan error, 1)
	orders.Append([]engine.Record{{Tag: "orders/1", Payload: make([]byte, 50_000)}}, func(err error) { stored <- err })
	if err := <-stored; err != nil {
		t.Fatal(err)
	}
	if err := orders.CreateCursor(t.Context(), engine.CursorConfig{Name: "billing"}); err != nil {
		t.Fatal(err)
	}
	tar := filepath.Join(t.TempDir(), "ferry.tar")
	f, err := os.Create(tar)
	if err != nil {
		t.Fatal(err)
	}
	w, err := backup.NewWriter(f, backup.Manifest{Made: time.Now(), Engine: config.EmbeddedEngine, Address: config.EmbeddedEngine, Streams: []string{"orders"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range backup.Files {
		if err := w.File(each, []byte(strings.Repeat(each.Name, 100))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Stream("orders", func(write func([]byte) error) error { return archive.Save(t.Context(), store, "orders", write) }); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	restored := filepath.Join(disk.Dir, "new", "restored")
	if got := ferryWith("", "restore", "--data-dir", restored, tar); got.status != 0 {
		t.Fatalf("restore: %+v", got)
	}
	if lost := disk.LosePower(); lost > 0 {
		t.Errorf("%d bytes were not on the disk when ferry restore ended", lost)
	}
	for _, each := range backup.Files {
		if got, err := os.ReadFile(filepath.Join(restored, each.Name)); err != nil || string(got) != strings.Repeat(each.Name, 100) {
			t.Errorf("%s has %d bytes, %v", each.Name, len(got), err)
		}
	}
}

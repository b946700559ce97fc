package nats

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"example.com/ferry/engine"
)

// TestHalfMade: the process was killed while it made the bucket of the cursors. The next one starts, and makes the bucket again.
// A stream with records and without the sum of its configuration is damaged: it is never removed.
func TestHalfMade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := EmbeddedConfig{Dir: dir, Log: slog.New(slog.DiscardHandler)}
	r := newRig(t, c)
	r.await(r.append(0, 3, 10))
	r.close()
	streams := filepath.Join(dir, server.JetStreamStoreDir, server.DEFAULT_GLOBAL_ACCOUNT, "streams")
	bucket := filepath.Join(streams, "KV_"+streamPrefix+"orders")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(bucket, server.JetStreamMetaFile), `{"name":"KV_`+streamPrefix+`orders","subjects":["$KV.`+streamPrefix+`orders.>"],"storage":"file"}`)
	write(filepath.Join(bucket, "msgs", "1.blk"), "")
	again := newRig(t, c)
	cursor, err := again.s.Cursor(t.Context(), engine.CursorConfig{Name: "work", Start: engine.Start{At: engine.AtFirst}})
	if err != nil {
		t.Fatalf("Cursor: %v", err)
	}
	if got := again.numbers(3); strings.Join(got, " ") != "0 1 2" {
		t.Errorf("got %q", got)
	}
	if err := cursor.Close(t.Context()); err != nil {
		t.Error(err)
	}
	again.close()
	if err := os.Remove(filepath.Join(streams, streamPrefix+"orders", server.JetStreamMetaFileSum)); err != nil {
		t.Fatal(err)
	}
	if e, err := Embedded(t.Context(), c); err == nil || !strings.Contains(err.Error(), "could not be recovered") {
		t.Errorf("a stream with records and without a sum: got %v", err)
		if e != nil {
			_ = e.Close(t.Context())
		}
	}
}

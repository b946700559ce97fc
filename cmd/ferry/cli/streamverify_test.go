package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/engine"
	"example.com/ferry/engine/file"
)

// TestStreamVerify: the command prints what streams have, and which records are damaged. With damage its status is 1.
func TestStreamVerify(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	if got := ferryWith("", "stream", "verify", data); got.status != statusFailed || !strings.Contains(got.stderr, "no streams in files") {
		t.Errorf("without streams: %+v", got)
	}
	e, err := file.Open(file.Config{Dir: filepath.Join(data, "streams", "log")})
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Open(t.Context(), engine.Config{Name: "orders", Tags: []string{"orders/#"}})
	if err != nil {
		t.Fatal(err)
	}
	stored := make(chan error, 1)
	for _, text := range []string{"one", "two", "three", "four"} {
		s.Append([]engine.Record{{Tag: "orders/1", Payload: []byte("payload " + text)}}, func(err error) { stored <- err })
		if err := <-stored; err != nil {
			t.Fatal(err)
		}
	}
	if got := ferryWith("", "stream", "verify", data); got.status != statusFailed || !strings.Contains(got.stderr, "in use by another process") {
		t.Errorf("while a node has the streams: %+v", got)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := "NAME    FIRST  LAST  RECORDS  DURABLES  DAMAGED\norders  1      4     4        0         none\n"
	if got := ferryWith("", "stream", "verify", data); got.status != 0 || got.stdout != want {
		t.Errorf("intact: %+v, want %q", got, want)
	}
	segments, err := filepath.Glob(filepath.Join(data, "streams", "log", "orders", "*.log"))
	if err != nil || len(segments) != 1 {
		t.Fatalf("segments: %q, %v", segments, err)
	}
	b, err := os.ReadFile(segments[0])
	if err != nil {
		t.Fatal(err)
	}
	b[bytes.Index(b, []byte("payload two"))] ^= 1
	b[bytes.Index(b, []byte("payload three"))] ^= 1
	if err := os.WriteFile(segments[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	want = "NAME    FIRST  LAST  RECORDS  DURABLES  DAMAGED\norders  1      4     2        0         2-3\n"
	got := ferryWith("", "stream", "verify", data)
	if got.status != statusFailed || got.stdout != want || !strings.Contains(got.stderr, "orders") {
		t.Errorf("damaged: %+v, want %q", got, want)
	}
	got = ferryWith("", "stream", "verify", "-o", "json", data)
	if want := `{"streams":[{"name":"orders","first":1,"last":4,"records":2,"durables":0,"damaged":[[2,3]]}]}` + "\n"; got.status != statusFailed || got.stdout != want {
		t.Errorf("damaged: %+v, want %q", got, want)
	}
}

package file_test

import (
	"os"
	"path/filepath"
	"testing"

	"example.com/ferry/engine"
	"example.com/ferry/engine/file"
)

// TestMaxPerTagAfterFailure: MaxPerTag that could not be set, because a file was not readable, holds when it is set again.
func TestMaxPerTagAfterFailure(t *testing.T) {
	config := file.Config{Dir: t.TempDir()}
	e := open(t, config)
	r := engine.Record{Tag: "a"}
	store(t, openStream(t, e, engine.Config{}), r, r, r)
	shut(t, e)
	e = open(t, config)
	segments, err := filepath.Glob(filepath.Join(config.Dir, "s", "*.log"))
	if err != nil || len(segments) != 1 {
		t.Fatalf("segments %q, %v, want one", segments, err)
	}
	if err := os.Rename(segments[0], segments[0]+".away"); err != nil {
		t.Fatal(err)
	}
	c := engine.Config{Name: "s", Tags: []string{"#"}, MaxPerTag: 1}
	if _, err := e.Open(t.Context(), c); err == nil {
		t.Fatal("Open: no error, though the records are not readable")
	}
	if err := os.Rename(segments[0]+".away", segments[0]); err != nil {
		t.Fatal(err)
	}
	s, err := e.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := s.Info(t.Context()); err != nil || info.Records != 1 {
		t.Errorf("%d records are left, %v, want 1", info.Records, err)
	}
}

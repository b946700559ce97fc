package file_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/ferry/engine"
	"example.com/ferry/engine/file"
)

// TestCreateCursorFails: CreateCursor returns no nil error until the cursor is on the disk.
func TestCreateCursorFails(t *testing.T) {
	config := file.Config{Dir: t.TempDir()}
	e := open(t, config)
	s := openStream(t, e, engine.Config{})
	path := filepath.Join(config.Dir, "s", "cursors")
	if err := os.Mkdir(path, 0o700); err != nil { // a file cannot replace it
		t.Fatal(err)
	}
	c := engine.CursorConfig{Name: "c"}
	for range 2 {
		if err := s.CreateCursor(t.Context(), c); err == nil {
			t.Error("CreateCursor: no error, though the cursor cannot be written")
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := s.CreateCursor(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || len(b) < 2 {
		t.Errorf("the file of cursors has %d bytes, %v", len(b), err)
	}
}

// TestReconfigureIDs changes what an ID is and how long it is known, while records are being stored: all their IDs stay known.
func TestReconfigureIDs(t *testing.T) {
	e := open(t, file.Config{Dir: t.TempDir()})
	s := openStream(t, e, engine.Config{})
	stored := make(chan error, 1000)
	for i := range 100 {
		records := []engine.Record{{Tag: "a", ID: fmt.Sprint(i), Payload: []byte("x")}}
		s.Append(records, func(err error) { stored <- err })
		openStream(t, e, engine.Config{SharedIDs: i%2 == 0, DuplicateWindow: time.Hour + time.Duration(i)})
		s.Append(records, func(err error) { stored <- err })
		openStream(t, e, engine.Config{SharedIDs: i%2 != 0, DuplicateWindow: time.Hour + time.Duration(i)})
		s.Append(records, func(err error) { stored <- err })
	}
	for range 300 {
		if err := <-stored; err != nil {
			t.Fatal(err)
		}
	}
	if info, err := s.Info(t.Context()); err != nil || info.Records != 100 {
		t.Errorf("%d records are stored, %v, want 100", info.Records, err)
	}
}

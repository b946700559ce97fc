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

// TestIDsOfRemoved: the ID of a removed record stays known in its window over restarts, however the record was removed.
func TestIDsOfRemoved(t *testing.T) {
	for name, remove := range map[string]func(s engine.Stream) error{
		"Remove": func(s engine.Stream) error { return s.Remove(t.Context(), 1) },
		"Purge": func(s engine.Stream) error {
			_, err := s.Purge(t.Context(), "", 0)
			return err
		},
	} {
		config := file.Config{Dir: t.TempDir()}
		e := open(t, config)
		restart := func() engine.Stream {
			shut(t, e)
			e = open(t, config)
			return openStream(t, e, engine.Config{DuplicateWindow: time.Hour})
		}
		first := engine.Record{Tag: "a", ID: "first", Payload: []byte("x")}
		s := openStream(t, e, engine.Config{DuplicateWindow: time.Hour})
		store(t, s, first)
		s = restart()
		store(t, s, engine.Record{Tag: "a", Payload: []byte("x")}) // in a segment of its own
		if err := remove(s); err != nil {
			t.Fatal(err)
		}
		killed := t.TempDir()
		if err := os.CopyFS(killed, os.DirFS(config.Dir)); err != nil {
			t.Fatal(err)
		}
		after := openStream(t, open(t, file.Config{Dir: killed}), engine.Config{DuplicateWindow: time.Hour})
		store(t, after, first)
		if n := after.(engine.DuplicateCounter).Duplicates(); n != 1 {
			t.Errorf("%s: %d duplicates after a kill, want 1", name, n)
		}
		for range 3 {
			s = restart()
			store(t, s, first, engine.Record{Tag: "a", Payload: []byte("y")})
			if n := s.(engine.DuplicateCounter).Duplicates(); n != 1 {
				t.Errorf("%s: %d duplicates, want 1", name, n)
			}
			if _, err := s.Purge(t.Context(), "", 0); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func openStream(t *testing.T, e *file.Engine, c engine.Config) engine.Stream {
	t.Helper()
	c.Name, c.Tags = "s", []string{"#"}
	s, err := e.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func store(t *testing.T, s engine.Stream, records ...engine.Record) {
	t.Helper()
	stored := make(chan error, 1)
	s.Append(records, func(err error) { stored <- err })
	if err := <-stored; err != nil {
		t.Fatal(err)
	}
}

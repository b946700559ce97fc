package file

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"testing"
	"time"

	"example.com/ferry/engine"
)

func openS(t *testing.T, e *Engine) engine.Stream {
	t.Helper()
	s, err := e.Open(t.Context(), engine.Config{Name: "s", Tags: []string{"#"}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestDeleteBesideNext: Next that is about to open a file when Delete moves the files returns ErrNoStream.
func TestDeleteBesideNext(t *testing.T) {
	dir := t.TempDir()
	e := openDir(t, dir)
	stored := make(chan error, 1)
	openS(t, e).Append([]engine.Record{{Tag: "a"}}, func(err error) { stored <- err })
	if err := <-stored; err != nil {
		t.Fatal(err)
	}
	if err := e.Close(t.Context()); err != nil { // it seals the segment: a reader looks at its tags before it opens the file
		t.Fatal(err)
	}
	e = openDir(t, dir)
	opened, err := openS(t, e).Cursor(t.Context(), engine.CursorConfig{Start: engine.Start{At: engine.AtFirst}})
	if err != nil {
		t.Fatal(err)
	}
	c := opened.(*cursor)
	deleted := make(chan error, 1)
	deleting := false
	c.reader = c.stream.log.Reader(1, func(string) bool {
		if deleting {
			return true
		}
		deleting = true
		go func() { deleted <- e.Delete(t.Context(), "s") }()
		for end := time.Now().Add(time.Minute); ; runtime.Gosched() {
			if _, err := os.Stat(c.stream.dir); errors.Is(err, fs.ErrNotExist) {
				return true
			}
			if time.Now().After(end) {
				t.Error("Delete has not moved the files within a minute")
				return true
			}
		}
	})
	if _, err := c.Next(t.Context(), 1, 1); !errors.Is(err, engine.ErrNoStream) {
		t.Errorf("Next: %v, want ErrNoStream", err)
	}
	if err := <-deleted; err != nil {
		t.Error(err)
	}
}

// TestDeleteBesideAppend: an Append that waits for room when its stream is removed gets ErrNoStream.
func TestDeleteBesideAppend(t *testing.T) {
	e := openDir(t, t.TempDir())
	s := openS(t, e)
	e.space.dir = "/nonexistent"
	stored := make(chan error, 1)
	s.Append([]engine.Record{{Tag: "a"}}, func(err error) { stored <- err })
	if err := e.Delete(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if err := <-stored; !errors.Is(err, engine.ErrNoStream) {
		t.Errorf("Append: %v, want ErrNoStream", err)
	}
}

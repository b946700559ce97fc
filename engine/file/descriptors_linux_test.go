package file_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/engine"
	"example.com/ferry/engine/file"
)

// TestCursorsShareDescriptors: cursors that have read all keep one descriptor of the segment open, not one each.
func TestCursorsShareDescriptors(t *testing.T) {
	config := file.Config{Dir: t.TempDir()}
	e := open(t, config)
	s := openStream(t, e, engine.Config{})
	store(t, s, engine.Record{Tag: "a"})
	segments := func() (n int) {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range all {
			path, err := os.Readlink(filepath.Join("/proc/self/fd", fd.Name()))
			if err == nil && strings.HasPrefix(path, config.Dir) && strings.HasSuffix(path, ".log") {
				n++
			}
		}
		return n
	}
	before := segments()
	var cursors []engine.Cursor
	for range 20 {
		c, err := s.Cursor(t.Context(), engine.CursorConfig{Start: engine.Start{At: engine.AtFirst}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Next(t.Context(), 1, 1); err != nil {
			t.Fatal(err)
		}
		cursors = append(cursors, c)
	}
	if n := segments() - before; n != 1 {
		t.Errorf("20 cursors have %d descriptors of the segment, want 1", n)
	}
	for _, c := range cursors {
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := segments() - before; n != 0 {
		t.Errorf("closed cursors have %d descriptors of the segment", n)
	}
}

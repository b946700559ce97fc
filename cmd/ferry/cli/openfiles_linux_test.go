package cli

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"example.com/ferry/cmd/ferry/scaffold"
)

// TestDevTee: ferry dev does not build for a file that a program, such as tee behind it, has open for writing.
func TestDevTee(t *testing.T) {
	dir := t.TempDir()
	d := &development{dir: dir, project: scaffold.Project{Build: []string{"make"}}}
	out := filepath.Join(dir, "out")
	f, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	first := d.sources(map[string]source{})
	if _, err := f.WriteString("a message\n"); err != nil {
		t.Fatal(err)
	}
	if open := d.sources(first); len(first)+len(open) > 0 {
		t.Errorf("while it is open: got %v, then %v", first, open)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	closed := d.sources(first)
	if f, err = os.OpenFile(out, os.O_WRONLY|os.O_APPEND, 0); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("another\n"); err != nil {
		t.Fatal(err)
	}
	if again := d.sources(closed); len(closed) != 1 || !maps.Equal(closed, again) {
		t.Errorf("closed: got %v, and open again: %v", closed, again)
	}
}

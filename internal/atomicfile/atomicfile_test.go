package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"example.com/ferry/internal/atomicfile"
)

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	for _, content := range []string{"first", "second, which is longer", ""} {
		if err := atomicfile.Write(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != content {
			t.Errorf("got %q, %v, want %q", got, err, content)
		}
	}
	all, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(all) != 1 {
		t.Errorf("the directory has %v, %v, want the file only", all, err)
	}
}

func TestWriteFails(t *testing.T) {
	if err := atomicfile.Write(filepath.Join(t.TempDir(), "missing", "state"), nil, 0o600); err == nil {
		t.Error("a file in a directory that is not there is written")
	}
}

// TestCreate: a file that exists stays.
func TestCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	for range 2 {
		if err := atomicfile.Create(path, []byte("first"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := atomicfile.Create(path, []byte("second"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "first" {
		t.Errorf("got %q, %v, want what was there first", got, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 == 0 {
		t.Errorf("mode %v, %v, want 0644", info.Mode(), err)
	}
}

// TestLeftovers: what a process that was killed during a write has left is removed by a later write, and nothing else is.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-time.Hour)
	for name, at := range map[string]time.Time{".state.new-1": old, ".state.new-2": time.Now(), ".other.new-1": old, "kept": old} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	if err := atomicfile.Write(filepath.Join(dir, "state"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		names = append(names, e.Name())
	}
	if want := []string{".other.new-1", ".state.new-2", "kept", "state"}; !slices.Equal(names, want) {
		t.Errorf("the directory has %q, want %q", names, want)
	}
}

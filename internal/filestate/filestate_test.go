package filestate_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/ferry/internal/filestate"
)

// TestSame checks that each way to change a file is noticed.
func TestSame(t *testing.T) {
	t.Parallel()
	then := time.Now().Add(-time.Hour)
	for _, row := range []struct {
		name   string
		change func(path string) error
		same   bool
	}{
		{"nothing", func(string) error { return nil }, true},
		{"the content in place", func(path string) error { return os.WriteFile(path, []byte("b"), 0o600) }, false},
		{"the length, at the same time", func(path string) error {
			if err := os.WriteFile(path, []byte("longer"), 0o600); err != nil {
				return err
			}
			return os.Chtimes(path, then, then)
		}, false},
		{"the permissions", func(path string) error { return os.Chmod(path, 0o400) }, false},
		{"the file, for one of the same length and time", func(path string) error {
			if err := os.WriteFile(path+".new", []byte("b"), 0o600); err != nil {
				return err
			}
			if err := os.Chtimes(path+".new", then, then); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		}, false},
		{"the file, which is removed", os.Remove, false},
	} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte("a"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
		before := state(path)
		if err := row.change(path); err != nil {
			t.Fatal(err)
		}
		if got := filestate.Same(before, state(path)); got != row.same {
			t.Errorf("%s: got %v, want %v", row.name, got, row.same)
		}
	}
	if !filestate.Same(nil, nil) {
		t.Error("a missing file is another one than a missing file")
	}
}

// state returns the state of a file; nil if it is missing.
func state(path string) fs.FileInfo {
	if info, err := os.Stat(path); err == nil {
		return info
	}
	return nil
}

func TestSettled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for age, want := range map[time.Duration]bool{-time.Hour: false, 0: false, time.Hour: true} {
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		if got := filestate.Settled(state(path)); got != want {
			t.Errorf("modified %v ago: got %v, want %v", age, got, want)
		}
	}
	if !filestate.Settled(nil) {
		t.Error("a missing file is not settled")
	}
}

package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestMkdirAll: each directory that has got a new name in it is synced, from the top, and no other.
func TestMkdirAll(t *testing.T) {
	top := t.TempDir()
	var synced []string
	sync := func(dir string) error {
		synced = append(synced, dir)
		return nil
	}
	dir := filepath.Join(top, "data", "streams", "log")
	for range 2 { // the second call finds all
		if err := mkdirAll(dir, 0o700, sync); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{top, filepath.Join(top, "data"), filepath.Join(top, "data", "streams")}; !slices.Equal(synced, want) {
		t.Errorf("synced %q, want %q", synced, want)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
	failed := errors.New("the disk is broken")
	if err := mkdirAll(filepath.Join(dir, "more"), 0o700, func(string) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("got %v, want what the sync says", err)
	}
	file := filepath.Join(top, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if MkdirAll(file, 0o700) == nil {
		t.Error("a file is taken for a directory")
	}
}

package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoDataDirectory: a verb that reads or removes a stream makes no data directory.
func TestNoDataDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	none, target := filepath.Join(dir, "none"), filepath.Join(dir, "target")
	for _, args := range [][]string{
		{"stream", "rm", "--data-dir", none, "orders"},
		{"stream", "copy", "--from-dir", none, "--to-dir", target, "orders"},
	} {
		got := ferryWith("", args...)
		if got.status != statusFailed || !strings.Contains(got.stderr, "there is no data directory "+none) {
			t.Errorf("%q: got %+v, want an error that names the directory", args, got)
		}
		for _, path := range []string{none, target} {
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%q: %s: %v, want that it does not exist", args, path, err)
			}
		}
	}
}

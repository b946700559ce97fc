package disktest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Killed returns a copy of a directory, which is what another process finds after kill -9. It begins again when a file goes
// meanwhile, as files do that are compacted.
func Killed(t testing.TB, dir string) string {
	t.Helper()
	for range 100 {
		next := filepath.Join(t.TempDir(), "killed")
		err := os.CopyFS(next, os.DirFS(dir))
		if err == nil {
			return next
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	t.Fatalf("%s does not stay the same while it is copied", dir)
	return ""
}

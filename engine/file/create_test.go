package file

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"example.com/ferry/engine"
)

func openDir(t *testing.T, dir string) *Engine {
	t.Helper()
	e, err := Open(Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(t.Context()) })
	return e
}

// TestLeftDirectories: directories that a failed call could not remove are in the way of no later call.
func TestLeftDirectories(t *testing.T) {
	config := Config{Dir: t.TempDir()}
	e := openDir(t, config.Dir)
	for range 2 {
		for _, name := range []string{".removed-s", ".new-s"} {
			if err := os.CopyFS(filepath.Join(config.Dir, name), os.DirFS(".")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := e.Open(t.Context(), engine.Config{Name: "s", Tags: []string{"#"}}); err != nil {
			t.Fatal(err)
		}
		if err := e.Delete(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		if left, err := filepath.Glob(filepath.Join(config.Dir, "*s")); err != nil || len(left) > 0 {
			t.Errorf("%q are left, %v", left, err)
		}
	}
}

// TestCreateFails: a stream whose directory is in place but does not open leaves nothing behind.
func TestCreateFails(t *testing.T) {
	e := openDir(t, t.TempDir())
	c, err := effective(engine.Config{Name: "s", Tags: []string{"#"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.create(c, func(dir string) error {
		return os.WriteFile(filepath.Join(dir, positionsName), []byte{positionsVersion + 1}, 0o600)
	})
	if err == nil {
		t.Fatal("create: no error, though its durables are of another version")
	}
	if _, err := e.Open(t.Context(), c); err != nil {
		t.Error(err)
	}
}

package filelock_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/internal/filelock"
)

func TestTake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := filelock.Take(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = filelock.Take(path)
	if !errors.Is(err, filelock.ErrHeld) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("got %v, want ErrHeld with the file and the process", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := filelock.Take(path)
	if err != nil {
		t.Fatalf("after Close: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	if _, err := filelock.Take(filepath.Join(path, "below", "a-file")); err == nil {
		t.Error("a path below a file: no error")
	}
}

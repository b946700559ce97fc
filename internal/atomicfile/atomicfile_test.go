package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"example.com/ferry/internal/atomicfile"
)

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	for _, content := range []string{"first", "second, which is longer", ""} {
		if err := atomicfile.Write(path, []byte(content)); err != nil {
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
	if err := atomicfile.Write(filepath.Join(t.TempDir(), "missing", "state"), nil); err == nil {
		t.Error("a file in a directory that is not there is written")
	}
}

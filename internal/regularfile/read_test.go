package regularfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("four"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := Read(file, 4); string(data) != "four" || err != nil {
		t.Errorf("got %q, %v", data, err)
	}
	if text, err := Text(file, 4); text != "four" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	long, want := filepath.Join(dir, "long"), strings.Repeat("0123456789", piece/4)
	if err := os.WriteFile(long, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := Text(long, int64(len(want))); text != want || err != nil {
		t.Errorf("got %d bytes, %v, want %d", len(text), err, len(want))
	}
	for _, c := range []struct {
		path  string
		limit int64
		want  string
	}{
		{file, 3, "at most 3"},
		{dir, 3, "is a directory"},
		{filepath.Join(dir, "none"), 3, dir},
		{os.DevNull, 3, ErrSpecial.Error()},
	} {
		if data, err := Read(c.path, c.limit); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %q, %v, want %q", c.path, data, err, c.want)
		}
		if text, err := Text(c.path, c.limit); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got text %q, %v, want %q", c.path, text, err, c.want)
		}
	}
	if _, err := Read(os.DevNull, 3); !errors.Is(err, ErrSpecial) {
		t.Errorf("%s: got %v, want ErrSpecial", os.DevNull, err)
	}
	if _, err := All(strings.NewReader("four"), "pipe", 3); err == nil || !strings.Contains(err.Error(), "pipe has 4 bytes or more") {
		t.Errorf("got %v", err)
	}
}

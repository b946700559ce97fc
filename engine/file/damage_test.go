package file_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/engine"
	"example.com/ferry/engine/file"
)

// TestDamagedPositions flips a bit at each place of the file with the durables. Only the durable whose entry it hits is lost. Unless it is
// a torn tail, an error names the file, and the file with the damage is kept.
func TestDamagedPositions(t *testing.T) {
	config := file.Config{Dir: t.TempDir()}
	e := open(t, config)
	s := openStream(t, e, engine.Config{})
	const durables = 3
	for i := range durables {
		c := engine.CursorConfig{Name: fmt.Sprint("c", i), Start: engine.Start{At: engine.AtSequence, Sequence: 100 + uint64(i)}}
		if err := s.CreateCursor(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	shut(t, e)
	intact, err := os.ReadFile(filepath.Join(config.Dir, "s", "cursors"))
	if err != nil {
		t.Fatal(err)
	}
	const name = 10                                     // offset of the name in an entry
	last := bytes.LastIndex(intact, []byte("c")) - name // the last entry: it counts as a torn tail
	names := []string{"c0", "c1", "c2"}
	for at := 1; at < len(intact); at++ {
		var logged bytes.Buffer
		copied := file.Config{Dir: t.TempDir(), Log: slog.New(slog.NewTextHandler(&logged, nil))}
		if err := os.CopyFS(copied.Dir, os.DirFS(config.Dir)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(copied.Dir, "s", "cursors")
		damaged := bytes.Clone(intact)
		damaged[at] ^= 4
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		e := open(t, copied)
		cursors, err := openStream(t, e, engine.Config{}).Cursors(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cursors {
			if i := strings.Index("c0c1c2", c.Name) / 2; c.Name != names[i] || c.Position.Floor != 99+uint64(i) {
				t.Errorf("a bit at %d: durable %q at %d", at, c.Name, c.Position.Floor)
			}
		}
		if len(cursors) != durables-1 {
			t.Fatalf("a bit at %d of %d: %d durables are left, want %d", at, len(intact), len(cursors), durables-1)
		}
		shut(t, e) // it writes the file anew
		kept, err := filepath.Glob(path + ".damaged-*")
		if err != nil {
			t.Fatal(err)
		}
		if at >= last {
			continue
		}
		if len(kept) != 1 {
			t.Fatalf("a bit at %d: %d files are kept, want 1", at, len(kept))
		}
		if b, err := os.ReadFile(kept[0]); err != nil || !bytes.Equal(b, damaged) {
			t.Errorf("a bit at %d: %s has %d bytes, %v, want those of the damaged file", at, kept[0], len(b), err)
		}
		if text := logged.String(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, path) {
			t.Errorf("a bit at %d: no error names the file in %q", at, text)
		}
	}
}

// TestOnlyDurableDamaged: a file whose first entry is damaged was never written like this, so that it is kept.
func TestOnlyDurableDamaged(t *testing.T) {
	config := file.Config{Dir: t.TempDir()}
	e := open(t, config)
	if err := openStream(t, e, engine.Config{}).CreateCursor(t.Context(), engine.CursorConfig{Name: "c"}); err != nil {
		t.Fatal(err)
	}
	shut(t, e)
	path := filepath.Join(config.Dir, "s", "cursors")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[12] ^= 4
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	shut(t, open(t, config))
	if kept, err := filepath.Glob(path + ".damaged-*"); err != nil || len(kept) != 1 {
		t.Errorf("%d files are kept, %v, want 1", len(kept), err)
	}
}

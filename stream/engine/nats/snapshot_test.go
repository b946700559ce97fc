package nats

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"example.com/ferry/stream/engine"
)

// TestFailedRestoreLeavesNothing: a stream without its positions would not be refused the next time, and its durables would begin anew.
func TestFailedRestoreLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, EmbeddedConfig{Dir: t.TempDir(), Sync: engine.SyncInterval})
	r.await(r.append(0, 3, 10))
	c, err := r.s.Cursor(t.Context(), engine.CursorConfig{Name: "work"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var parts [][]byte
	if err := r.e.Snapshot(t.Context(), "orders", func(part []byte) error { parts = append(parts, slices.Clone(part)); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := r.e.Delete(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}
	restore := func(head []byte) error {
		next := -1
		return r.e.Restore(t.Context(), "orders", func() ([]byte, error) {
			switch next++; next {
			case 0:
				return head, nil
			case len(parts):
				return nil, io.EOF
			}
			return parts[next], nil
		})
	}
	for what, damage := range map[string][2]string{
		"the name of a cursor": {`"work"`, `"no name"`},
		"the mark of ferry":    {metaTags, "other"},
	} {
		if err := restore(bytes.Replace(parts[0], []byte(damage[0]), []byte(damage[1]), 1)); err == nil {
			t.Errorf("%s is damaged: restored", what)
		}
		names, err := r.e.streamNames(t.Context())
		if err != nil || len(names) != 0 {
			t.Fatalf("%s is damaged: %q is left, %v", what, names, err)
		}
	}
	if err := restore(parts[0]); err != nil {
		t.Error(err)
	}
}

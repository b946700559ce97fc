package file_test

import (
	"io"
	"slices"
	"testing"

	"example.com/ferry/engine"
	"example.com/ferry/engine/file"
)

func openStream(t *testing.T, e *file.Engine, c engine.Config) engine.Stream {
	t.Helper()
	c.Name, c.Tags = "s", []string{"#"}
	s, err := e.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func store(t *testing.T, s engine.Stream, records ...engine.Record) {
	t.Helper()
	stored := make(chan error, 1)
	s.Append(records, func(err error) { stored <- err })
	if err := <-stored; err != nil {
		t.Fatal(err)
	}
}

// TestRestoreRemoved restores a stream whose newest records are removed. What is stored then is there, also after a restart.
func TestRestoreRemoved(t *testing.T) {
	for _, left := range []uint64{0, 1} {
		saved := open(t, file.Config{Dir: t.TempDir()})
		s := openStream(t, saved, engine.Config{})
		records := slices.Repeat([]engine.Record{{Tag: "a", Payload: []byte("x")}}, 3)
		store(t, s, records...)
		for n := left + 1; n <= 3; n++ {
			if err := s.Remove(t.Context(), n); err != nil {
				t.Fatal(err)
			}
		}
		var parts [][]byte
		err := saved.Snapshot(t.Context(), "s", func(part []byte) error {
			parts = append(parts, slices.Clone(part))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		config := file.Config{Dir: t.TempDir()}
		restored := open(t, config)
		err = restored.Restore(t.Context(), "s", func() ([]byte, error) {
			if len(parts) == 0 {
				return nil, io.EOF
			}
			part := parts[0]
			parts = parts[1:]
			return part, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		store(t, openStream(t, restored, engine.Config{}), records[:2]...)
		shut(t, restored)
		s = openStream(t, open(t, config), engine.Config{})
		info, err := s.Info(t.Context())
		if err != nil || info.Records != left+2 || info.Last != 5 {
			t.Errorf("%d records up to %d, %v, want %d up to 5", info.Records, info.Last, err, left+2)
		}
		for n := uint64(4); n <= 5; n++ {
			if _, err := s.Get(t.Context(), n); err != nil {
				t.Errorf("Get(%d): %v", n, err)
			}
		}
	}
}

package file

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"example.com/ferry/engine"
	"example.com/ferry/engine/archive"
	"example.com/ferry/engine/internal/packed"
)

// forged is an archive of a stream "s" that has records with these numbers, and ends with the number before next.
func forged(t *testing.T, first, next uint64, numbers ...uint64) *archive.Reader {
	t.Helper()
	c, err := effective(engine.Config{Name: "s", Tags: []string{"#"}})
	if err != nil {
		t.Fatal(err)
	}
	head := packed.AppendConfig(append([]byte("Hferrystream"), 1), c)
	for _, n := range []uint64{first, next - 1, uint64(len(numbers))} {
		head = binary.AppendUvarint(head, n)
	}
	parts := [][]byte{head}
	at := first
	pass := func(n uint64) {
		if n > at {
			parts = append(parts, binary.AppendUvarint(binary.AppendUvarint([]byte{'D'}, at), n-at))
		}
		at = n
	}
	for _, n := range numbers {
		pass(n)
		parts = append(parts, packed.AppendRecord([]byte{'R'}, &engine.Record{Sequence: n, Tag: "a", Stored: 1}))
		at++
	}
	pass(next)
	parts = append(parts, binary.AppendUvarint([]byte{'E'}, uint64(len(numbers))))
	i := uint32(0)
	a, err := archive.Open(func() ([]byte, error) {
		if int(i) == len(parts) {
			return nil, io.EOF
		}
		part := parts[i]
		sum := crc32.Checksum(append(binary.BigEndian.AppendUint32(nil, i), part...), castagnoli)
		i++
		return binary.BigEndian.AppendUint32(part, sum), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestRestoreFarNumbers: an archive may begin with a high number, but has no gap that would take the memory of the process, and leaves
// numbers to give.
func TestRestoreFarNumbers(t *testing.T) {
	const far = 1 << 62
	for name, tt := range map[string]struct {
		archive *archive.Reader
		want    string // in the error; "" means none
	}{
		"far":             {forged(t, far, far+2, far, far+1), ""},
		"far and empty":   {forged(t, far, far), ""},
		"a gap":           {forged(t, 1, 1<<20+1, 1, 1<<20), ""},
		"a gap between":   {forged(t, 1, far+1, 1, far), "numbers are removed"},
		"a gap behind":    {forged(t, 1, far, 1), "numbers are removed"},
		"no numbers left": {forged(t, 1<<63, 1<<63+1, 1<<63), "last number"},
	} {
		e := openDir(t, t.TempDir())
		_, err := e.Restore(t.Context(), tt.archive)
		if tt.want != "" {
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want an error with %q", name, err, tt.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if info, err := e.streams["s"].Info(t.Context()); err != nil || info.Last != tt.archive.Head.Last || info.Records != tt.archive.Head.Records {
			t.Errorf("%s: %d records up to %d, %v, want %d up to %d", name, info.Records, info.Last, err, tt.archive.Head.Records, tt.archive.Head.Last)
		}
	}
}

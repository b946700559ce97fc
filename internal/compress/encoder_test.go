package compress_test

import (
	"runtime"
	"strings"
	"testing"

	"example.com/ferry/internal/compress"
)

// TestEncoder compresses streams in pieces, one after another with one encoder, and leaves one of them unfinished.
func TestEncoder(t *testing.T) {
	t.Parallel()
	pieces := []string{"a", strings.Repeat("pump-1 ", 5000), "", "the end"}
	whole := strings.Join(pieces, "")
	for _, name := range names {
		e := compress.NewEncoder(name)
		for round, between := range []compress.Step{compress.More, compress.Flush, compress.More} {
			var data []byte
			var err error
			for i, piece := range pieces {
				then := between
				if i == len(pieces)-1 {
					then = compress.End
				}
				before := len(data)
				if data, err = e.Append(data, []byte(piece), then); err != nil {
					t.Fatal(err)
				}
				if between == compress.Flush && piece != "" && len(data) == before {
					t.Errorf("%s: flushing a piece of %d bytes wrote nothing", name, len(piece))
				}
			}
			if got, err := compress.Expand(nil, data, name, len(whole)); err != nil || string(got) != whole {
				t.Errorf("%s, stream %d: got %d of %d bytes, %v", name, round, len(got), len(whole), err)
			}
			if _, err := e.Append(nil, []byte("left"), compress.More); err != nil {
				t.Fatal(err)
			}
			e.Reset()
		}
	}
}

// TestEncoderMemory holds that EncoderMemory, which memory budgets count, is what an encoder takes.
func TestEncoderMemory(t *testing.T) {
	piece := []byte(strings.Repeat("pump-1 is on; ", 1<<10))
	out := make([]byte, 0, 1<<20)
	for _, name := range names {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		e := compress.NewEncoder(name)
		for range 64 {
			var err error
			if out, err = e.Append(out[:0], piece, compress.Flush); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > compress.EncoderMemory || took < compress.EncoderMemory/4 {
			t.Errorf("%s: an encoder allocates %d bytes, EncoderMemory is %d", name, took, compress.EncoderMemory)
		}
	}
}

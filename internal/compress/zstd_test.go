package compress_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"

	"example.com/ferry/internal/compress"
)

// TestWindowClaim expands messages that claim a window of 8 MiB, as encoders of streams do. The memory must follow the
// content and the limit, not the claim.
func TestWindowClaim(t *testing.T) {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(8<<20), zstd.WithEncoderConcurrency(1), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	content := make([]byte, 100)
	for i := range content {
		if _, err := w.Write(content[i : i+1]); err != nil || w.Flush() != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	claim := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0x80, 0, 0x01, 0, 0} // 8 MiB in one segment, with an empty last block
	for _, row := range []struct {
		name  string
		data  []byte
		limit int
		want  error
	}{{"a window of 8 MiB", b.Bytes(), 1000, nil}, {"the same, too large", b.Bytes(), 99, compress.ErrTooLarge}, {"a size of 8 MiB", claim, 2 << 30, io.ErrUnexpectedEOF}} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out, err := compress.Expand(nil, row.data, compress.Zstd, row.limit)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, row.want) || row.want == nil && !bytes.Equal(out, content) {
			t.Errorf("%s: got %d bytes, %v, want %v", row.name, len(out), err, row.want)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 2<<20 {
			t.Errorf("%s: %d bytes allocate %d KiB", row.name, len(row.data), n>>10)
		}
	}
}

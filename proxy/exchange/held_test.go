package exchange

import (
	"bytes"
	"testing"

	"example.com/ferry/loop"
)

// TestHeldBytesGrowByDoubling: a body that arrives in small pieces is copied a few times, however large it becomes.
func TestHeldBytesGrowByDoubling(t *testing.T) {
	t.Parallel()
	onLoop(t, func(l *loop.Loop, _ *Plan) {
		var h HeldBytes
		defer h.Release()
		moved, piece := 0, bytes.Repeat([]byte("p"), 256)
		for range 2 << 20 / len(piece) {
			before := h.buf
			h.Append(l, piece)
			if h.buf != before {
				moved++
			}
		}
		if len(h.Bytes()) != 2<<20 || moved > 20 {
			t.Errorf("%d bytes were moved %d times", len(h.Bytes()), moved)
		}
	})
}

package main

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"testing"

	"example.com/ferry"
)

type sent []ferry.Message

func (s *sent) Send(_ context.Context, m ferry.Message) error {
	*s = append(*s, m)
	return nil
}

// TestThumbnails checks that a thumbnail has the proportions of its image and a bounded size.
func TestThumbnails(t *testing.T) {
	rows := []struct{ width, height, wantHeight int }{
		{128, 64, 32}, {64, 64, 64}, {1000, 1, 1}, {1, 1000, maxHeight}, {1, 2_000_000, maxHeight},
	}
	for _, row := range rows {
		var in bytes.Buffer
		if err := png.Encode(&in, image.NewGray(image.Rect(0, 0, row.width, row.height))); err != nil {
			t.Fatal(err)
		}
		var out sent
		if err := thumbnail(t.Context(), &ferry.Message{Tag: "images/a", Payload: in.Bytes()}, &out); err != nil {
			t.Fatal(err)
		}
		got, err := png.DecodeConfig(bytes.NewReader(out[0].Payload))
		if err != nil || out[0].Tag != "thumbs/a" || got.Width != width || got.Height != row.wantHeight {
			t.Errorf("%d x %d: %d x %d on %s, %v, want %d x %d", row.width, row.height, got.Width, got.Height, out[0].Tag, err, width, row.wantHeight)
		}
	}
}

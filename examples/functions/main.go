// Command functions is a function in a program of its own, which a node runs: it answers PNG images on images/... with
// thumbnails on thumbs/.... Pictures from outside take memory and time as they like, so it is a worker: the node starts it
// twice, kills it when it takes too long, and starts it again when it dies. See node.yaml for how to run it.
package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"log"
	"strings"

	"example.com/ferry"
	"example.com/ferry/cpu/worker"
)

func main() {
	if err := worker.Serve(context.Background(), ferry.HandlerFunc(thumbnail)); err != nil {
		log.Fatal(err)
	}
}

const (
	width     = 64       // of a thumbnail, in pixels
	maxPixels = 20 << 20 // of a picture
)

func thumbnail(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	head, err := png.DecodeConfig(bytes.NewReader(in.Payload))
	if err != nil {
		return err
	}
	if head.Width*head.Height > maxPixels {
		return fmt.Errorf("a picture of %d x %d: at most %d pixels", head.Width, head.Height, maxPixels)
	}
	picture, err := png.Decode(bytes.NewReader(in.Payload))
	if err != nil {
		return err
	}
	var payload bytes.Buffer
	if err := png.Encode(&payload, scaled(picture)); err != nil {
		return err
	}
	tag := "thumbs/" + strings.TrimPrefix(in.Tag, "images/")
	return out.Send(ctx, ferry.Message{Tag: tag, Type: ferry.Raw, Payload: payload.Bytes()})
}

// scaled takes the pixel nearest to each of the thumbnail's.
func scaled(from image.Image) image.Image {
	b := from.Bounds()
	to := image.NewRGBA(image.Rect(0, 0, width, max(1, b.Dy()*width/b.Dx())))
	for y := range to.Rect.Dy() {
		for x := range to.Rect.Dx() {
			to.Set(x, y, from.At(b.Min.X+x*b.Dx()/to.Rect.Dx(), b.Min.Y+y*b.Dy()/to.Rect.Dy()))
		}
	}
	return to
}

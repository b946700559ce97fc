// Command functions is a program that a node runs as a function. For each PNG image on images/... it publishes a thumbnail on
// thumbs/.... Untrusted images may take much memory and time, so the function is a worker: the node runs two processes of it,
// kills a process after a timeout, and restarts a process that died. node.yaml has the commands to run it.
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
	maxHeight = 1024     // of a thumbnail, in pixels
	maxPixels = 20 << 20 // of an image
)

func thumbnail(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	head, err := png.DecodeConfig(bytes.NewReader(in.Payload))
	if err != nil {
		return err
	}
	if int64(head.Width)*int64(head.Height) > maxPixels {
		return fmt.Errorf("an image of %d x %d: at most %d pixels", head.Width, head.Height, maxPixels)
	}
	img, err := png.Decode(bytes.NewReader(in.Payload))
	if err != nil {
		return err
	}
	var payload bytes.Buffer
	if err := png.Encode(&payload, scaled(img)); err != nil {
		return err
	}
	tag := "thumbs/" + strings.TrimPrefix(in.Tag, "images/")
	return out.Send(ctx, ferry.Message{Tag: tag, Type: ferry.Raw, Payload: payload.Bytes()})
}

// scaled returns a thumbnail. Each of its pixels is the nearest one of the image.
func scaled(from image.Image) image.Image {
	b := from.Bounds()
	to := image.NewRGBA(image.Rect(0, 0, width, min(max(1, b.Dy()*width/b.Dx()), maxHeight)))
	for y := range to.Rect.Dy() {
		for x := range to.Rect.Dx() {
			to.Set(x, y, from.At(b.Min.X+x*b.Dx()/to.Rect.Dx(), b.Min.Y+y*b.Dy()/to.Rect.Dy()))
		}
	}
	return to
}

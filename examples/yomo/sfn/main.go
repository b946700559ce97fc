// Command sfn is a stream function that prints the readings of a sound sensor. node.yaml, in the folder above, has the commands
// to run it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"

	"example.com/ferry"
	"example.com/ferry/examples/yomo/internal/noise"
	"example.com/ferry/stream"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	if stop(); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	client, err := noise.Dial(ctx, "noise")
	if err != nil {
		return err
	}
	defer client.Close()
	err = client.Run(ctx, stream.Function{Observe: []string{noise.Tag}, Handler: stream.Sink(handle)})
	if ctx.Err() != nil { // interrupted, which is its normal end
		return nil
	}
	return err
}

// handle returns the error of a message that it cannot read: the client logs and counts it, and goes on.
func handle(_ context.Context, in *ferry.Message) error {
	var r noise.Reading
	if err := json.Unmarshal(in.Payload, &r); err != nil {
		return err
	}
	fmt.Printf("%s: %.1f dB from %s\n", in.Tag, r.Noise, r.From)
	return nil
}

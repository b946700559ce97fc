// Command source publishes ten readings of a sound sensor, one every 200 ms.
package main

import (
	"context"
	"encoding/json"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"time"

	"example.com/ferry"
	"example.com/ferry/examples/yomo/internal/noise"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	if stop(); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	client, err := noise.Dial(ctx, "sensor")
	if err != nil {
		return err
	}
	defer client.Close()
	for range 10 {
		payload, err := json.Marshal(noise.Reading{Noise: rand.Float32() * 200, Time: time.Now().UnixMilli(), From: "localhost"})
		if err != nil {
			return err
		}
		if err := client.Send(ctx, ferry.Message{Tag: noise.Tag, Type: ferry.JSON, Payload: payload}); err != nil {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
	return client.Flush(ctx) // the node has routed all
}

// Command function is a stream function: it publishes an alert for each temperature above 30. The node evaluates the
// predicate, so no other message crosses the wire. node.yaml has the commands to run it.
package main

import (
	"bytes"
	"context"
	"log"
	"os"
	"os/signal"
	"strings"

	"example.com/ferry"
	"example.com/ferry/stream"
	"example.com/ferry/transport/tcp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	if stop(); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	token, err := os.ReadFile("ferry-data/function/token")
	if err != nil {
		return err
	}
	client, err := stream.Dial(ctx, tcp.New(nil), "127.0.0.1:4390", &stream.Config{Token: bytes.TrimSpace(token)})
	if err != nil {
		return err
	}
	defer client.Close()
	err = client.Run(ctx, stream.Function{
		Observe: []string{"sensors/#"},
		Where:   `readings.0.value > 30`,
		Handler: ferry.HandlerFunc(alert),
	})
	if ctx.Err() != nil { // interrupted, which is its normal end
		return nil
	}
	return err
}

func alert(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	tag := "alerts/" + strings.TrimPrefix(in.Tag, "sensors/")
	return out.Send(ctx, ferry.Message{Tag: tag, Type: in.Type, Payload: in.Payload})
}

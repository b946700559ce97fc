// Command calls serves greeter.Greeter.Hello over its own connection to a node, so it needs no address: it may run behind NAT. Run it
// several times, and the node gives each call to the one with the fewest calls in progress. node.yaml has the commands to run it.
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"example.com/ferry/rpc"
	"example.com/ferry/stream"
	"example.com/ferry/transport/tcp"
)

type helloRequest struct {
	Name string `json:"name"`
}

type helloReply struct {
	Message string `json:"message"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	if stop(); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	token, err := os.ReadFile("ferry-data/calls/token")
	if err != nil {
		return err
	}
	client, err := stream.Dial(ctx, tcp.New(nil), "127.0.0.1:4790", &stream.Config{Token: bytes.TrimSpace(token)})
	if err != nil {
		return err
	}
	defer client.Close()
	srv := rpc.NewServer(nil)
	rpc.Handle(srv, "greeter.Greeter.Hello", func(_ context.Context, in *helloRequest) (*helloReply, error) {
		return &helloReply{Message: fmt.Sprintf("Hello, %s, from process %d", in.Name, os.Getpid())}, nil
	})
	return rpc.Serve(ctx, client, srv) // until an interrupt, and then until the calls in progress have ended
}

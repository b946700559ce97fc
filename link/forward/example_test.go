package forward_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"os"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/link"
	"example.com/ferry/link/forward"
	"example.com/ferry/link/spool"
	"example.com/ferry/stream"
	"example.com/ferry/transport/memory"
)

// An edge node passes the messages of its sensors on to a hub.
func Example() {
	ctx := context.Background()
	network := memory.New(nil)
	start := func(id string) *broker.Broker {
		node, err := broker.New(broker.Config{Node: id, Identify: func([]byte, *tls.ConnectionState) (*broker.Identity, error) {
			return &broker.Identity{Name: "anyone", Publish: []string{"#"}, Subscribe: []string{"#"}, Forward: true}, nil
		}})
		if err != nil {
			log.Fatal(err)
		}
		listener, err := network.Listen(ctx, id)
		if err != nil {
			log.Fatal(err)
		}
		go func() { _ = node.Serve(ctx, listener, broker.ValidateFull) }()
		return node
	}
	start("hub")
	edge := start("edge")

	dir, err := os.MkdirTemp("", "spool")
	if err != nil {
		log.Fatal(err)
	}
	hub, err := forward.New(forward.Config{
		Config: link.Config{Name: "hub", Spool: spool.Config{Dir: dir}}, Node: "edge",
		Target: forward.Target{Tags: []string{"sensors/#"}, Dialer: network, Addr: "hub"},
	})
	if err != nil {
		log.Fatal(err)
	}
	edge.SetForwarders([]broker.Forwarder{hub})

	received := make(chan string)
	subscriber, err := stream.Dial(ctx, network, "hub", nil)
	if err != nil {
		log.Fatal(err)
	}
	_, err = subscriber.Start(ctx, stream.Function{Observe: []string{"#"}, Handler: stream.Sink(func(_ context.Context, in *ferry.Message) error {
		received <- in.Tag + ": " + string(in.Payload)
		return nil
	})})
	if err != nil {
		log.Fatal(err)
	}
	publisher, err := stream.Dial(ctx, network, "edge", nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := publisher.Send(ctx, ferry.Message{Tag: "sensors/1", Payload: []byte("21.5")}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-received)
	_ = hub.Close(ctx)
	_ = os.RemoveAll(dir)
	// Output: sensors/1: 21.5
}

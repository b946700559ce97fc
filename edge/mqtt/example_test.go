package mqtt_test

import (
	"context"
	"fmt"
	"log"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/edge/mqtt"
)

func ExampleNew() {
	broker, err := broker.New(broker.Config{Identify: broker.Anyone})
	if err != nil {
		log.Fatal(err)
	}
	server, err := mqtt.New(mqtt.Config{Broker: broker})
	if err != nil {
		log.Fatal(err)
	}
	listener, err := server.Listen(mqtt.ListenerConfig{Config: edge.Config{Address: "127.0.0.1:0"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("devices connect to", listener.Addr().Network())
	ctx := context.Background()
	_ = broker.Shutdown(ctx)
	_ = listener.Drain(ctx)
	_ = server.Close()
	// Output: devices connect to tcp
}

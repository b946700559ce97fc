package bridge_test

import (
	"context"
	"crypto/tls"
	"log"
	"net"

	"example.com/ferry/stream/hop"
	"example.com/ferry/stream/mqtt/bridge"
	"example.com/ferry/stream/spool"
)

// A node passes its tags plant/... on to a broker, and takes the broker's topics commands/...
func Example() {
	broker, err := hop.New(hop.Config{Node: "edge-1", Identify: func([]byte, *tls.ConnectionState) (*hop.Identity, error) {
		return &hop.Identity{Name: "anyone", Publish: []string{"#"}, Subscribe: []string{"#"}}, nil
	}})
	if err != nil {
		log.Fatal(err)
	}
	b, err := bridge.New(bridge.Config{
		Name: "cloud", Node: "edge-1", Broker: broker,
		Listener: broker.NewLocalListener(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, hop.ValidateFull),
		Target: bridge.Target{
			Dial: func(ctx context.Context) (net.Conn, error) {
				return (&tls.Dialer{}).DialContext(ctx, "tcp", "broker.example.com:8883")
			},
			User: "plant-7", Password: []byte("secret"),
			In: []string{"commands/#"}, Out: []string{"plant/#"},
		},
		Spool: spool.Config{Dir: "ferry-data/bridges/cloud"},
	})
	if err != nil {
		log.Fatal(err)
	}
	broker.SetForwarders([]hop.Forwarder{b})
}

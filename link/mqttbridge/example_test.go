package mqttbridge_test

import (
	"context"
	"crypto/tls"
	"log"
	"net"

	"example.com/ferry/broker"
	"example.com/ferry/link"
	"example.com/ferry/link/mqttbridge"
	"example.com/ferry/link/spool"
)

// A node passes its tags plant/... on to a broker, and takes the broker's topics commands/...
func Example() {
	node, err := broker.New(broker.Config{Node: "edge-1", Identify: func([]byte, *tls.ConnectionState) (*broker.Identity, error) {
		return &broker.Identity{Name: "anyone", Publish: []string{"#"}, Subscribe: []string{"#"}}, nil
	}})
	if err != nil {
		log.Fatal(err)
	}
	b, err := mqttbridge.New(mqttbridge.Config{
		Config: link.Config{Name: "cloud", Spool: spool.Config{Dir: "ferry-data/bridges/cloud"}}, Node: "edge-1", Broker: node,
		Listener: node.NewLocalListener(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, broker.ValidateFull),
		Target: mqttbridge.Target{
			Dial: func(ctx context.Context) (net.Conn, error) {
				return (&tls.Dialer{}).DialContext(ctx, "tcp", "broker.example.com:8883")
			},
			User: "plant-7", Password: []byte("secret"),
			In: []string{"commands/#"}, Out: []string{"plant/#"},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	node.SetForwarders([]broker.Forwarder{b})
}

// Package mqttbridge connects a node to another MQTT broker, in both directions: messages of its topics are published on tags, and
// messages of tags are published on its topics.
//
// A Bridge is a client of the broker, by MQTT 5 and QoS 1. Towards the broker it is a broker.Forwarder: messages wait in memory until
// the broker has confirmed them, and on disk while the broker is away or slow. From the broker it is a broker.Local: a message is
// confirmed to the broker when the node has stored it, or routed it if no stream stores its tag.
//
//	b, err := bridge.New(bridge.Config{
//		Name: "cloud", Node: "edge-1", Broker: broker, Listener: listener, Token: token,
//		Target: bridge.Target{Dial: dial, In: []string{"commands/#"}, Out: []string{"plant/#"}},
//		Spool: spool.Config{Dir: "ferry-data/bridges/cloud"},
//	})
//	broker.SetForwarders([]broker.Forwarder{b})
package mqttbridge

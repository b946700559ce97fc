// Package mqttbridge connects a node to another MQTT broker, in both directions: messages of its topics are published on tags, and
// messages of tags are published on its topics.
//
// A Bridge is a client of the broker, by MQTT 5 or 3.1.1 and QoS 1. Towards the broker it is a broker.Forwarder: an outbox keeps messages
// until the broker has confirmed them. From the broker it is a broker.Local: a message is confirmed to the broker when the node has
// stored it, or routed it if no stream stores its tag.
//
//	b, err := mqttbridge.New(mqttbridge.Config{
//		Config: link.Config{Name: "cloud", Spool: spool.Config{Dir: "ferry-data/bridges/cloud"}},
//		Node: "edge-1", Broker: broker, Listener: listener, Token: token,
//		Target: mqttbridge.Target{Dial: dial, In: []string{"commands/#"}, Out: []string{"plant/#"}},
//	})
//	broker.SetForwarders([]broker.Forwarder{b})
package mqttbridge

// Files: a bridge to another MQTT broker: a wire below an outbox of link. bridge.go takes messages from the broker of this
// node, publish.go writes PUBLISH and counts PUBACK, connect.go is the handshake and the limits of the broker, conn.go the
// connection behind it; inlet.go publishes what comes, and confirms it.

// Package mqtt is an MQTT server whose clients are clients of the broker: MQTT 3.1.1 and MQTT 5, over TCP and TLS.
//
// A topic is a tag. Connections are driven by event loops (package loop). A Server has the sessions and the retained messages; each of
// its Listeners has an address, and its own validation. A session subscribes as a broker.Local, so identities, grants, predicates, validation
// and limits apply as to every client. docs/mqtt.md says what of MQTT is served, and how.
//
//	s, err := mqtt.New(mqtt.Config{Broker: broker})
//	l, err := s.Listen(mqtt.ListenerConfig{Address: "127.0.0.1:1883"})
package mqtt

// Package mqtt is an MQTT server whose clients are clients of the broker: MQTT 3.1.1 and MQTT 5, over TCP, TLS and WebSocket.
//
// A topic is a tag. Connections are driven by event loops (package loop). A Server has the sessions and the retained messages; each of
// its Listeners has an address, and its own validation. A session subscribes as a broker.Local, so identities, grants, predicates, validation
// and limits apply as to every client. docs/mqtt.md says what of MQTT is served, and how.
//
//	s, err := mqtt.New(mqtt.Config{Broker: broker})
//	l, err := s.Listen(mqtt.ListenerConfig{Config: edge.Config{Address: "127.0.0.1:1883"}})
package mqtt

// Files: an MQTT server on event loops, whose sessions are clients of the broker. greeting.go handles CONNECT, attach.go
// gives a session to a connection and takes it back, conn.go is the connection between. publish.go and pending.go are
// messages of the client until PUBACK, deliver.go, flights.go and ack.go messages to the client until it has them,
// subscribe.go its subscriptions, retained.go and will.go what MQTT has beside. session.go says what the lock of a session
// guards; server.go has all sessions, store.go saves them. internal/message is the entry that says what MQTT knows of a
// message.

// Package nats stores streams in NATS JetStream.
//
// Connect uses a server or a cluster that runs elsewhere:
//
//	e, err := nats.Connect(ctx, nats.ClusterConfig{Address: "nats://n1,n2,n3"})
//	s, err := e.Open(ctx, engine.Config{Name: "orders", Tags: []string{"orders/#"}})
//	s.Append([]engine.Record{{Tag: "orders/17", Payload: order}}, func(err error) { ... })
//
// Stream NAME is the JetStream stream ferry-NAME. A record is a message on the subject of its tag (subject.go). Its other fields
// are headers (message.go). Appended records gather while the server stores those before them, and are stored as one atomic batch
// (appender.go). A cursor reads with a JetStream consumer that exists while the cursor is open (reader.go). The position of a named
// cursor, and which process holds it, are one entry of the key-value bucket ferry-NAME (lease.go).
package nats

// Files: an engine on a NATS JetStream cluster: connect.go connects. subject.go and message.go map tags and records.
// appender.go gathers what is appended, batch.go stores it, doubt.go finds what is stored without an acknowledgement.
// reader.go and damage.go read with the server's consumers; cursor.go, cursors.go and lease.go have the cursors, restore.go
// makes a stream from an archive, and places.go its positions if it gets other numbers.

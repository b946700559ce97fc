// Package broker is the broker, the node's side of streams. It accepts connections, identifies their clients, and forwards
// published messages to the matching subscriptions.
//
// The broker reads the 24-byte header of a message. It also reads the fields that a predicate names, if a subscription
// has one. It never decodes a payload. A run of frames is copied once: from its read buffer to a write buffer. Frames
// of 16 KiB and more are shared and not copied. Each subscription has one delivery queue for each tag, with its own
// credit and bound. So a slow consumer delays its own tag and no other.
//
//	b, err := broker.New(broker.Config{Identify: broker.Anyone, Formats: all.Formats()})
//	err = b.Serve(ctx, listener, broker.ValidateFull)
package broker

// Files: accept.go and session.go are its clients, receiver.go handles a client's messages, tags.go, route.go and group.go
// decide where they go (internal/routes has tags and filters by level, so that a SUB looks only at tags that match),
// handover.go spreads the clients at an upgrade. client.go is what a session needs of its client: a connection, or a Local
// in the process (local.go, local_publish.go, local_subscribe.go), whose messages leave by local_outlet.go. publisher.go is
// the grant of a client for a tag, and internal/ledger its account: credit returns once, what withholds it is a set of
// holds, and responses to PINGs wait for what is not stored.

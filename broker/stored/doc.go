// Package stored has the streams of a broker that an engine stores. A Grant appends what a publisher sends, and its credit returns once
// that is stored. A Sub reads: alone, as a replay, or as a member of a durable, which shares the messages of a stream between its members
// until they are acked. What a durable holds, and who gets it next, is in internal/durable.
//
// A Store has the streams, Subs the subscriptions of one client. Package stored knows no session and no route; the broker tells its
// publishers why nothing is stored.
package stored

// Files: streams that an engine stores: store.go has them; grant.go appends a publisher's messages, and records.go says what
// they are and how many wait; sub.go is a subscription, and subs.go those of a client; durable.go delivers to the members of
// a durable and reader.go reads for it, replay.go is a subscription that reads alone.

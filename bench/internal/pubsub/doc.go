// Package pubsub sends messages from a source through a node to a function, each a process of its own, and measures
// throughput and latency.
//
// A System is the node and its transport: ferry's own binary, a bare relay, a NATS server. Every message is an EdgeX event in
// CBOR that differs from the others in its origin, a sequence number, and in eight bytes for the time it was sent; the
// function compares each one byte for byte with what was sent, in order. Processes are the question's own program started
// again, so its main begins with Main; they end when their standard input does, so none is left behind.
//
//	func main() {
//		pubsub.Main()
//		harness.Main(question())
//	}
//
//	c, err := pubsub.Start(pubsub.Setup{System: pubsub.FerryQUIC, Dir: dir, Size: 1 << 10})
//	defer c.Close()
//	f, err := c.Closed(100_000) // as fast as they go
//	l, err := c.Open(1000, 500) // 1000 messages, 500 a second
package pubsub

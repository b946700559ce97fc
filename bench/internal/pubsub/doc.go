// Package pubsub sends messages from a source through a node to a function, and measures throughput and latency. Source, node
// and function are separate processes.
//
// A System is a node with its transport: ferry's binary, a bare relay, or a NATS server. Every message is an EdgeX event in
// CBOR. Two messages differ only in the origin, which is a sequence number, and in the eight bytes of the send time. The
// function compares each message, in order, byte for byte with the expected one. The processes are the benchmark's own program
// started again, so main begins with a call of Main. They end when their standard input ends, so no process is left behind.
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

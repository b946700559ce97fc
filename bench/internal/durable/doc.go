// Package durable measures streams that are stored: from publishing to the acknowledgement and to the handler, and reading a whole
// stream again. Servers and client are separate processes.
//
// A System is what a client publishes to: NATS JetStream alone, or ferry's binary with an engine inside or elsewhere. Servers are
// shared by all systems that are measured with the same number of replicas and the same way of syncing, so ferry and its limit use
// the same JetStream. The client of every system is one process with one connection. It has many goroutines, each of which waits
// for its message before it publishes the next one. Messages are those of package numbered, which the client compares byte for byte.
//
//	func main() {
//		durable.Main()
//		harness.Main(question())
//	}
package durable

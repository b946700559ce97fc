// Package grpcload generates gRPC load with grpc-go, unary or bidirectional, and provides the backend. Both are protocols of
// package keepalive. Messages are bytes without an encoding; the client verifies that each response is its request.
//
//	func main() {
//		keepalive.Main(grpcload.Protocols()...)
//		harness.Main(question())
//	}
package grpcload

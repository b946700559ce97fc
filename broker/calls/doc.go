// Package calls passes calls from the clients that make them to clients that offer their services. The Router has the services, and the
// calls that wait until an instance is free. Each connection has an End, and each of its streams a Receiver, which gets the client's
// frames. The Router reads the headers of frames and never a message. A call is a relay: it keeps the numbers that both ends have for
// it, and their credit.
//
// Package calls knows no tag, no subscription and no engine.
package calls

// Files: calls from clients to clients that offer their services: router.go gives calls to instances, receiver.go reads the
// frames of a stream, relay.go is one call that crosses the node, and how it ends, forward.go what happens to it before, and
// leg.go carries its frames to a connection.

// Package peer is one end of a native connection: the handshake, the streams in both directions, liveness, and the end.
//
// Both ends of the wire of package native stand on it: the client in package stream and the broker in stream/hop. A
// FrameWriter gathers the frames of many goroutines into few large writes, a FrameReader cuts a stream into batches of
// whole frames. A Table names the frame kinds that an end takes and their handlers; a Receiver takes runs of PUBs, which
// are not looked up one by one. state.go draws the states of a Conn.
//
//	c := peer.New(socket, peer.Config{Remote: "node"})
//	welcome, err := c.Connect(native.HelloFrame{Token: token})
//	err = peer.Serve(c, &table, newReceiver) // until the connection is closed
package peer

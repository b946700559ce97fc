// Package peer implements one end of a native connection: handshake, streams in both directions, liveness, and closing.
//
// Both ends of the protocol of package native use it: the client in package stream and the broker in broker. A
// FrameWriter gathers the frames of many goroutines into few large writes. A FrameReader cuts a stream into batches of
// whole frames. A Table lists the frame kinds that an end accepts, with their handlers. A Receiver handles runs of
// PUBs, which need no look-up for each frame. state.go draws the states of a Conn.
//
//	c := peer.New(socket, peer.Config{Remote: "node"})
//	welcome, err := c.Connect(native.HelloFrame{Token: token})
//	err = peer.Serve(c, &table, newReceiver) // until the connection is closed
package peer

// Files: one end of a native connection, for both sides: handshake.go, state.go, streams.go, liveness.go; dispatch.go maps
// frame kinds to handlers, frame_reader.go, frame_writer.go and queue.go move frames between streams and memory.

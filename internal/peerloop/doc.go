// Package peerloop drives native connections (internal/peer) with an event loop instead of goroutines: an idle connection has neither
// a goroutine nor a read buffer.
//
// A frame reaches the same handlers as with peer.Serve, on the loop. Frames that they or other goroutines append are written at the end of
// the loop's turn. conn_state.go draws the phases of a connection.
package peerloop

// Files: the same end of a connection, driven by an event loop: conn.go passes frames to the handlers of a peer.Table and
// writes what was appended; conn_state.go draws its phases.

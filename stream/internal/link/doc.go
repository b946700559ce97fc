// Package link moves native frames between a byte stream and memory: an Outlet coalesces what many goroutines send into
// few large writes, an Inlet cuts what arrives into batches of whole frames.
//
// Both ends of the native wire use it: the node's hop and the client in package stream. It knows frames by their length
// only.
package link

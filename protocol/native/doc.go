// Package native is ferry's own wire: how stream and rpc frame what they send over any transport.
//
// It holds no socket, no goroutine and no clock. Split cuts received bytes into frames, Parse and the Frame accessors
// read them in place, Append writes them. A published message is the same bytes on its way to the node and on its way
// from it, so a node forwards a run of frames by copying them once, and never looks behind the 24-byte header unless a
// predicate asks. docs/native.md specifies every byte, with vectors.
//
//	buf = native.AppendPub(buf, native.PubHeader{Tag: 7, Source: 3, Time: now, Type: ferry.CBOR}, payload)
//	frame, err := native.Split(buf, native.DefaultMaxFrame)
package native

// Package native is ferry's own wire protocol: the frames that stream and rpc send over any transport.
//
// It has no socket, no goroutine and no clock. Split cuts received bytes into frames, Parse functions and Frame accessors read
// them in place, Append functions write them. A PUB frame is the same bytes to the node and from it. So a node forwards a run
// of frames with one copy, and reads behind the 24-byte header only for a predicate. docs/native.md specifies every byte, with
// vectors.
//
//	buf = native.AppendPub(buf, native.PubHeader{Tag: 7, Source: 3, Time: now, Type: ferry.CBOR}, payload)
//	frame, err := native.Split(buf, native.DefaultMaxFrame)
package native

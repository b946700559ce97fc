// Package native is ferry's own wire protocol: the frames that stream and rpc send over any transport.
//
// The package has no socket, no goroutine and no clock. Split cuts received bytes into frames. The Parse functions and the
// methods of Frame read frames in place. The Append functions write frames. A node forwards PUB frames without changing a
// byte. So it forwards a run of frames with one copy, and reads the bytes after the 24-byte header only to evaluate a
// predicate. docs/native.md specifies every byte, with test vectors.
//
//	buf = native.AppendPub(buf, native.PubHeader{Tag: 7, Source: 3, Time: now, Type: ferry.CBOR}, payload)
//	frame, err := native.Split(buf, native.DefaultMaxFrame)
package native

// Files: the one wire of streams and calls: frames in, frames out. control.go and frame.go are streams, stored.go and ack.go
// stored streams, call.go calls, forward.go paths of forwarded messages, extension.go the entries of extensions. Specified
// in docs/native.md.

// Package relay is the minimal program between a source and a function. It reads frames from one connection, parses each
// header, and writes the same bytes to another connection.
//
// Frames are length-prefixed, reads and writes go through 256 KiB buffers, and the buffer is written when the next frame
// has not arrived yet. There are no tags, no identities, no credit, no limits and no counters. Over TCP it uses no
// TLS; over QUIC it uses the library, the windows and the certificate that ferry uses.
//
//	node, err := relay.Listen(relay.TCP, "127.0.0.1:0", nil)
//	go node.Serve()
//	in, err := relay.Subscribe(ctx, relay.TCP, node.Addr(), nil)
//	out, err := relay.Publish(ctx, relay.TCP, node.Addr(), nil)
//	err = out.Send(0, payload)
package relay

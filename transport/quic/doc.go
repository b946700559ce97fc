// Package quic carries bytes over QUIC with TLS 1.3: several independent streams per connection, which survives a change
// of the client's address.
//
// A Conn is the first bidirectional stream of a QUIC connection (ALPN ferry/1), opened by the dialer, and more streams for
// the asking: it is a transport.Multi. QUIC shows a stream to the peer with its first bytes, so the dialer speaks first:
// Accept returns a connection when something arrived on it.
//
// QUIC itself drops what is in flight when a connection is closed. So that a Close delivers what was written before it,
// each end tells the other when it has read a stream to its end, by one byte per stream on a unidirectional stream, and
// Close waits for that, no longer than Config.Linger. A peer that does not tell (it is no ferry) costs that time, no bytes.
//
//	tr := quic.New(&quic.Config{ClientTLS: trusted})
//	conn, err := tr.Dial(ctx, "node.local:4190")
package quic

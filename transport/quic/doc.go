// Package quic carries bytes over QUIC with TLS 1.3. A connection has several independent streams and survives a change of
// the client's address.
//
// A Conn is the first bidirectional stream of a QUIC connection (ALPN ferry/1), which the dialer opens. It is a
// transport.Multi, so either end can open more streams. The peer sees a QUIC stream with its first bytes. Therefore the
// dialer writes first, and Accept returns a connection once bytes arrived on it.
//
// QUIC discards data in flight when a connection is closed. To deliver what was written before Close, each end sends a
// receipt when it has read a stream to its end: one byte for each stream, on a unidirectional stream. Close waits for the
// receipts, no longer than Config.Linger. A peer that is not ferry sends none: Close then takes that long, and no data is lost.
//
// An accepted connection starts with a receive window of Config.InitialWindow. It grows to ConnWindow only after
// Conn.PeerIdentified was called.
//
//	tr := quic.New(&quic.Config{ClientTLS: trusted})
//	conn, err := tr.Dial(ctx, "node.local:4190")
package quic

// Package quic carries bytes over QUIC with TLS 1.3. A connection has several independent streams and survives a change of
// the client's address.
//
// A Conn is the first bidirectional stream of a QUIC connection (ALPN ferry/1). The dialer opens that stream. A Conn is a
// transport.Multi, so either end can open more streams. The peer sees a QUIC stream when its first bytes arrive. Therefore the
// dialer writes first, and Accept returns a connection after bytes have arrived.
//
// QUIC discards data in flight when a connection is closed. Receipts prevent that loss. When an end has read a stream
// completely, it sends a receipt: one byte for each stream, on a unidirectional stream. Close waits for the receipts, at most
// for Config.Linger. A peer that does not use this package sends no receipts: then Close takes the whole Linger, and no data
// is lost.
//
// An accepted connection starts with a receive window of Config.InitialWindow. The window grows up to ConnWindow only after
// Conn.PeerIdentified was called.
//
//	tr := quic.New(&quic.Config{ClientTLS: trusted})
//	conn, err := tr.Dial(ctx, "node.local:4190")
package quic

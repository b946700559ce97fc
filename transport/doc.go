// Package transport is the contract of how bytes travel: Dial, Listen, Conn. Each folder below is one transport.
//
// A Conn is an ordered, reliable stream of bytes. A transport whose connections can carry several independent streams
// (QUIC) returns Conns that are also Multi; what one stream loses does not delay the others.
package transport

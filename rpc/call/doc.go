// Package call is the vocabulary of calls: what package rpc, which runs handlers and balances clients, and the protocols, which
// carry calls over connections, know of each other. It links the standard library and package transport only.
//
// A call has a Head, messages in both directions, and a Status. A unary call has one message each way; the three stream shapes
// have any number. A Protocol is one way to write calls as bytes: ferry's native wire, gRPC, JSON-RPC over HTTP. Protocols pass
// messages as bytes; package rpc decodes them.
package call

// Package relay passes calls on from one protocol to another, message by message, without decoding them: a Gate passes on the calls of ordinary clients, and an Upstream calls
// to one server. A node uses it for ordinary clients and servers of gRPC and HTTP, which do not speak ferry's protocol.
package relay

// Files: passes calls on from one protocol to another without decoding messages: relay.go one call, upstream.go the calls to
// one server, gate.go those of ordinary clients, whose two versions of HTTP split.go tells apart.

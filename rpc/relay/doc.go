// Package relay passes calls on from one protocol to another, message by message, without decoding them: a Gate passes on the calls of ordinary clients, and an Upstream calls
// to one server. A node uses it for ordinary clients and servers of gRPC and HTTP, which do not speak ferry's protocol.
package relay

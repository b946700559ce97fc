// Package pki stores the identity of a node in its data directory: a local certificate authority, the node's certificate, and
// the token of clients on the same machine.
//
// Open creates missing files. A file is never visible before it is complete. Nodes that start at the same time in one
// directory use the same files. The keys are ECDSA P-256.
//
//	id, err := pki.Open(pki.Config{Dir: "ferry-data"})
//	server := quic.New(&quic.Config{ServerTLS: id.ServerTLS()})
//	trust, err := pki.ClientTLS("ferry-data/ca.pem")
package pki

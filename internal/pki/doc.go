// Package pki keeps the identity of a node in its data directory: a local certificate authority, the node's certificate,
// and the token of clients on the same machine.
//
// Open makes missing files. Each file appears complete or not at all, and nodes that start at the same time in one directory
// use the same files. The keys are ECDSA P-256.
//
//	id, err := pki.Open(pki.Config{Dir: "ferry-data"})
//	server := quic.New(&quic.Config{ServerTLS: id.ServerTLS()})
//	trust, err := pki.ClientTLS("ferry-data/ca.pem")
package pki

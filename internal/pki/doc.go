// Package pki keeps the identity of a node in its data directory: a local certificate authority, the node's certificate,
// and the token that clients on the same machine show.
//
// What is missing is made by Open, and never half: each file appears complete or not at all, and nodes that start at once in
// one directory agree on what they find. The keys are ECDSA P-256.
//
//	id, err := pki.Open(pki.Config{Dir: "ferry-data"})
//	server := quic.New(&quic.Config{ServerTLS: id.ServerTLS()})
//	trust, err := pki.ClientTLS("ferry-data/ca.pem")
package pki

// Package certs reads certificates, keys and CA files in PEM, and keeps TLS configurations current when the files change.
//
// A Store watches all files with one goroutine. A Server or Client is the TLS configuration of a listener or of a dialer.
// When its files change, new handshakes use the new content. Connections keep the certificate of their handshake. If the new
// content is invalid, the old one stays in use, and the error is logged and counted.
//
//	store := certs.NewStore(log)
//	server, err := store.Server(&tls.Config{MinVersion: tls.VersionTLS12}, []certs.Files{{CertFile: "a.pem", KeyFile: "a.key"}}, "clients-ca.pem")
//	defer server.Close()
//	conn := tls.Server(accepted, server.Config())
package certs

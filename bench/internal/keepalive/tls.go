package keepalive

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// ServerName is the name in the servers' certificate.
const ServerName = "localhost"

// clientTLS returns the configuration of a client that verifies servers by the certificates in a file. The curve is X25519, as
// for all programs of these benchmarks; post-quantum key exchange is off.
func clientTLS(ca, protocol string) (*tls.Config, error) {
	text, err := os.ReadFile(ca)
	if err != nil {
		return nil, fmt.Errorf("keepalive: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("keepalive: %s holds no certificate", ca)
	}
	return &tls.Config{
		RootCAs: pool, ServerName: ServerName, NextProtos: []string{protocol}, MinVersion: tls.VersionTLS13,
		CurvePreferences: []tls.CurveID{tls.X25519}, DynamicRecordSizingDisabled: true,
	}, nil
}

// serverTLS returns the configuration of a server with a certificate and a key from files.
func serverTLS(cert, key, protocol string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("keepalive: %w", err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, NextProtos: []string{protocol}, MinVersion: tls.VersionTLS13,
		CurvePreferences: []tls.CurveID{tls.X25519}, DynamicRecordSizingDisabled: true,
	}, nil
}

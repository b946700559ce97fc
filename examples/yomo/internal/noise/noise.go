// Package noise is what the source and the function of this example share.
package noise

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"

	"example.com/ferry/stream"
	"example.com/ferry/transport/quic"
)

// Tag is what the source publishes on.
const Tag = "noise/room-1"

// Reading is a reading of a sound sensor.
type Reading struct {
	Noise float32 `json:"noise"` // decibels
	Time  int64   `json:"time"`  // Unix milliseconds
	From  string  `json:"from"`
}

// Dial connects to the node of node.yaml over QUIC. It takes the CA and the token from the node's data directory.
func Dial(ctx context.Context, name string) (*stream.Client, error) {
	const dir = "ferry-data/yomo"
	token, err := os.ReadFile(filepath.Join(dir, "token"))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(ca)
	transport := quic.New(&quic.Config{ClientTLS: &tls.Config{RootCAs: trusted}})
	return stream.Dial(ctx, transport, "127.0.0.1:4890", &stream.Config{Name: name, Token: bytes.TrimSpace(token)})
}

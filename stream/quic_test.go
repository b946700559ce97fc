package stream_test

import (
	"testing"

	"example.com/ferry/internal/pki"
	"example.com/ferry/transport/quic"
)

// quicTransport returns a QUIC transport with its own CA.
func quicTransport(t testing.TB) *quic.Transport {
	t.Helper()
	dir := t.TempDir()
	id, err := pki.Open(pki.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	client, err := pki.ClientTLS(dir + "/ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	return quic.New(&quic.Config{ClientTLS: client, ServerTLS: id.ServerTLS()})
}

package quic

import (
	"path/filepath"
	"testing"

	"example.com/ferry/internal/pki"
)

func TestWindowGrowsOnceThePeerIsIdentified(t *testing.T) {
	dir := t.TempDir()
	id, err := pki.Open(pki.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	trust, err := pki.ClientTLS(filepath.Join(dir, pki.CAFile))
	if err != nil {
		t.Fatal(err)
	}
	tr := New(&Config{ServerTLS: id.ServerTLS(), ClientTLS: trust, Linger: -1})
	l, err := tr.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialed, err := tr.Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer dialed.Close()
	if _, err := dialed.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	accepted := c.(*Conn)
	allow := tr.acceptedQUIC(&l.(*listener).identified).AllowConnectionWindowIncrease

	if allow(accepted.qc, 1) {
		t.Error("the window may grow before PeerIdentified")
	}
	accepted.PeerIdentified()
	if !allow(accepted.qc, 1) {
		t.Error("the window may not grow after PeerIdentified")
	}
	_ = accepted.Close()
	accepted.PeerIdentified()
	if allow(accepted.qc, 1) {
		t.Error("a closed connection is still stored")
	}
	dialed.(*Conn).PeerIdentified()
}

package quic

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/pki"
	"example.com/ferry/transport"
)

// TestSilentClientsMakeRoom connects three clients to a listener with room for two silent ones. Only the third writes.
func TestSilentClientsMakeRoom(t *testing.T) {
	dir := t.TempDir()
	id, err := pki.Open(pki.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	trust, err := pki.ClientTLS(filepath.Join(dir, pki.CAFile))
	if err != nil {
		t.Fatal(err)
	}
	tr := New(&Config{ServerTLS: id.ServerTLS(), ClientTLS: trust, Linger: -1, HandshakeTimeout: time.Hour, maxSilent: 2})
	l, err := tr.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var clients []transport.Conn
	for range 3 {
		c, err := tr.Dial(ctx, l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		clients = append(clients, c)
	}
	if _, err := clients[2].Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept(ctx)
	if err != nil {
		t.Fatalf("two silent clients keep a third one out: %v", err)
	}
	defer c.Close()
	_ = clients[0].SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := clients[0].Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "too many connections") {
		t.Errorf("the oldest silent client: Read = %v, want the reason of its end", err)
	}
}

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

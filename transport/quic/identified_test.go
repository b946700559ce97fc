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

// TestSilentClientsMakeRoom connects two silent clients to a listener with room for one. Then it connects a client that
// writes.
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
	tr := New(&Config{ServerTLS: id.ServerTLS(), ClientTLS: trust, Linger: -1, HandshakeTimeout: time.Hour, maxSilent: 1})
	l, err := tr.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dial := func() transport.Conn {
		c, err := tr.Dial(ctx, l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	oldest := dial()
	for accepted := 0; accepted == 0; time.Sleep(time.Millisecond) { // the server may complete a handshake later than the client
		if ctx.Err() != nil {
			t.Fatal("the server does not complete the first handshake")
		}
		l := l.(*listener)
		l.mu.Lock()
		accepted = l.live
		l.mu.Unlock()
	}
	dial()
	_ = oldest.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := oldest.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "too many connections") {
		t.Errorf("the oldest silent client: Read = %v, want the reason of its end", err)
	}
	if _, err := dial().Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept(ctx)
	if err != nil {
		t.Fatalf("a silent client keeps another one out: %v", err)
	}
	_ = c.Close()
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
	allow := tr.acceptedConfig(&l.(*listener).identified).AllowConnectionWindowIncrease

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

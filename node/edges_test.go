package node

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/ferry/internal/pki"
	"example.com/ferry/node/config"
)

// TestRefusedListener: a reload that is refused disconnects the clients that its new listener has already accepted.
func TestRefusedListener(t *testing.T) {
	cfg := quiet(t)
	n := build(t, cfg)
	t.Cleanup(n.Close)
	l, err := n.newListener(config.Listener{Address: "http://127.0.0.1:0", Validate: config.ValidateFull}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", l.bound.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(c, "GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	b := bufio.NewReader(c)
	res, err := http.ReadResponse(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	(&relisten{node: n, added: []*listener{l}}).abort()
	if _, err := b.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection is still open: %v", err)
	}
}

// TestMQTTOverWebSocket: a listener for MQTT over WebSocket, with and without TLS, is what its scheme says, and takes pages of http.origins only.
func TestMQTTOverWebSocket(t *testing.T) {
	cfg := quiet(t)
	n := build(t, cfg)
	t.Cleanup(n.Close)
	for _, scheme := range []string{"mqtt+ws", "mqtt+wss"} {
		l, err := n.newListener(config.Listener{Address: scheme + "://127.0.0.1:0", Validate: config.ValidateFull, HTTP: config.HTTP{Origins: []string{"https://app.example"}}}, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for origin, want := range map[string]string{"https://app.example": "HTTP/1.1 101 ", "https://evil.example": "HTTP/1.1 403 "} {
			c, err := net.Dial("tcp", l.bound.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			if scheme == "mqtt+wss" {
				security, err := pki.ClientTLS(filepath.Join(n.config().DataDir, pki.CAFile))
				if err != nil {
					t.Fatal(err)
				}
				security.ServerName = "127.0.0.1"
				c = tls.Client(c, security)
			}
			if _, err := io.WriteString(c, "GET /mqtt HTTP/1.1\r\nHost: edge.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
				"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: mqtt\r\nOrigin: "+origin+"\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len(want))
			if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
				t.Errorf("%s, origin %s: got %q, %v, want %q", scheme, origin, got, err, want)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := l.served.Drain(ctx); err != nil {
			t.Error(err)
		}
	}
}

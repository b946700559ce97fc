package node

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry/edge"
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
			_ = c.Close() // otherwise the server waits for it
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := l.served.Drain(ctx); err != nil {
			t.Error(err)
		}
	}
}

// TestLoginURL: the node asks the server of mqtt.login_url about an unknown user, and its metrics say how that ends. What cannot be granted is not
// remembered.
func TestLoginURL(t *testing.T) {
	logins := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked edge.LoginRequest
		_ = json.NewDecoder(r.Body).Decode(&asked)
		switch {
		case asked.Password != "secret" || asked.Protocol != "web" || asked.Address == "":
			w.WriteHeader(http.StatusUnauthorized)
		case asked.User == "lost":
			w.WriteHeader(http.StatusInternalServerError)
		case asked.User == "odd":
			_, _ = io.WriteString(w, `{"publish":["a/#/b"]}`)
		default:
			_, _ = io.WriteString(w, `{"publish":["up/${user}"],"subscribe":[]}`)
		}
	}))
	defer logins.Close()
	cfg := quiet(t)
	cfg.Listeners = []config.Listener{{Address: "http://127.0.0.1:0"}}
	cfg.MQTT.LoginURL = logins.URL
	n := build(t, cfg)
	run(t, n)
	for _, row := range []struct {
		user, password string
		status         int
	}{{"pump", "secret", 204}, {"pump", "secret", 204}, {"pump", "wrong", 401}, {"lost", "secret", 503}, {"odd", "secret", 401}, {"odd", "secret", 401}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.Addresses()[0]+"/v1/tags/up/pump", strings.NewReader("1"))
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth(row.user, row.password)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != row.status {
			t.Errorf("%s with password %s: status %d, want %d", row.user, row.password, response.StatusCode, row.status)
		}
	}
	_, metrics := get(t, n.Admin()+"metrics")
	for result, count := range map[string]int{"right": 1, "remembered": 1, "wrong": 1, "unavailable": 1, "unusable": 2, "busy": 0, "delayed": 0} {
		if line := fmt.Sprintf("ferry_logins_total{check=\"callback\",result=%q} %d\n", result, count); !strings.Contains(metrics, line) {
			t.Errorf("/metrics has no line %s", line)
		}
	}
}

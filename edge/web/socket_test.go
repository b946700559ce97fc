package web_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"example.com/ferry/broker"
	"example.com/ferry/edge/web"
)

func (r *rig) dial(path string, compression websocket.CompressionMode) (*websocket.Conn, context.Context) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	r.t.Cleanup(cancel)
	c, res, err := websocket.Dial(ctx, "ws://"+r.addr+path, &websocket.DialOptions{CompressionMode: compression, CompressionThreshold: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	if compressed := res.Header.Get("Sec-WebSocket-Extensions") != ""; compressed != (compression != websocket.CompressionDisabled) {
		r.t.Errorf("extensions %q", res.Header)
	}
	r.t.Cleanup(func() { _ = c.CloseNow() })
	c.SetReadLimit(1 << 20)
	return c, ctx
}

func wantText(t *testing.T, ctx context.Context, c *websocket.Conn, want string) {
	t.Helper()
	kind, p, err := c.Read(ctx)
	if err != nil || kind != websocket.MessageText || !strings.Contains(string(p), want) {
		t.Fatalf("got %v %.200s, %v; want %.200s", kind, p, err, want)
	}
}

func TestWebSocket(t *testing.T) {
	for name, mode := range map[string]websocket.CompressionMode{
		"plain": websocket.CompressionDisabled, "deflate": websocket.CompressionNoContextTakeover, "takeover": websocket.CompressionContextTakeover,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, broker.Config{}, web.Config{PingInterval: 500 * time.Millisecond})
			c, ctx := r.dial("/v1/tags/a%2Fb?mode=both", mode)
			long := `"` + strings.Repeat("long ", 10000) + `"`
			for _, m := range []string{`{"n":1}`, long, "3"} {
				if err := c.Write(ctx, websocket.MessageText, []byte(m)); err != nil {
					t.Fatal(err)
				}
				wantText(t, ctx, c, `"payload":`+m+`}`)
			}
			if err := c.Write(ctx, websocket.MessageText, []byte("{")); err != nil {
				t.Fatal(err)
			}
			wantText(t, ctx, c, `{"error":{"code":"invalid"`)
			if err := c.Write(ctx, websocket.MessageBinary, []byte{1, 2}); err != nil {
				t.Fatal(err)
			}
			wantText(t, ctx, c, `"type":"raw","base64":"AQI="`)
			w, err := c.Writer(ctx, websocket.MessageText)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 { // fragments
				if _, err := io.WriteString(w, " 7"); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			wantText(t, ctx, c, `invalid`)
			if err := c.Close(websocket.StatusNormalClosure, "done"); err != nil {
				t.Errorf("Close: %v", err)
			}
			await(t, "the end of the client", func() bool { return r.broker.Snapshot().Connections == 0 })
		})
	}
}

func TestWebSocketRefusals(t *testing.T) {
	r := newRig(t, broker.Config{}, web.Config{})
	c, ctx := r.dial("/v1/tags/a", websocket.CompressionDisabled)
	if err := c.Write(ctx, websocket.MessageText, []byte("1")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Read(ctx); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
		t.Errorf("publishing where one only subscribes: %v", err)
	}
	for _, f := range []struct{ name, value string }{{"Sec-WebSocket-Version", "8"}, {"Sec-WebSocket-Key", "short"}} {
		fields := map[string]string{"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", f.name: f.value}
		head := "GET /v1/tags/a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
		for name, value := range fields {
			head += name + ": " + value + "\r\n"
		}
		b, _ := io.ReadAll(io.LimitReader(r.raw(head+"\r\n"), 13))
		if !strings.Contains(string(b), " 4") {
			t.Errorf("%s %s: %q", f.name, f.value, b)
		}
	}
	status, _, _ := r.do(http.MethodGet, "/v1/tags/a?mode=talk", "", "Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
	if status != 400 {
		t.Errorf("mode=talk: status %d", status)
	}
}

func TestWebSocketHalfOpen(t *testing.T) {
	r := newRig(t, broker.Config{}, web.Config{PingInterval: 10 * time.Millisecond})
	r.raw("GET /v1/tags/a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	await(t, "the handshake", func() bool { return r.server.Stats().Requests["1xx"] == 1 })
	await(t, "the end of a client that sends no PONG", func() bool { return r.server.Stats().WebSockets == 0 })
}

// TestRefusedWebSocket: a client that may subscribe but not publish gets one response, and nothing that was delivered meanwhile.
func TestRefusedWebSocket(t *testing.T) {
	ids, err := broker.NewIdentities([]broker.Credential{
		{Identity: broker.Identity{Name: "reader", Subscribe: []string{"a"}}, TokenHash: broker.HashToken([]byte("reader"))},
		{Identity: broker.Identity{Name: "writer", Publish: []string{"a"}}, TokenHash: broker.HashToken([]byte("writer"))},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, broker.Config{Identify: ids.Identify}, web.Config{})
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		body := strings.Repeat("1\n", 1000)
		for {
			select {
			case <-stop:
				return
			default:
				r.wantStatus(200, "POST", "/v1/tags/a", body, "Authorization", "Bearer writer", "Content-Type", "application/x-ndjson")
			}
		}
	}()
	defer func() {
		close(stop)
		<-done
	}()
	c := r.raw("")
	responses := bufio.NewReader(c)
	for i := range 500 {
		if _, err := io.WriteString(c, "GET /v1/tags/a?mode=both HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer reader\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(responses, nil)
		if err != nil || res.StatusCode != 403 {
			t.Fatalf("request %d: %v, %v; want 403", i, res, err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
	}
}

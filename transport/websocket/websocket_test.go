package websocket_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	coder "github.com/coder/websocket"

	"example.com/ferry/internal/pki"
	"example.com/ferry/transport"
	"example.com/ferry/transport/transporttest"
	"example.com/ferry/transport/websocket"
)

const patience = 20 * time.Second

func loopback(*testing.T) string { return "127.0.0.1:0" }

// stall connects and says nothing.
func stall(t *testing.T, addr string) {
	host, _, _ := strings.Cut(addr, "/")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
}

// identity returns TLS configurations for a server and for clients that trust this server.
func identity(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	dir := t.TempDir()
	id, err := pki.Open(pki.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	client, err = pki.ClientTLS(filepath.Join(dir, pki.CAFile))
	if err != nil {
		t.Fatal(err)
	}
	return id.ServerTLS(), client
}

func TestContract(t *testing.T) {
	server, client := identity(t)
	for name, subject := range map[string]transporttest.Subject{
		"ws":   {Server: websocket.New(nil), Client: websocket.New(nil), Addr: loopback},
		"path": {Server: websocket.New(nil), Client: websocket.New(nil), Addr: func(*testing.T) string { return "127.0.0.1:0/data/in" }},
		"wss": {
			Server: websocket.NewTLS(&websocket.Config{ServerTLS: server}),
			Client: websocket.NewTLS(&websocket.Config{ClientTLS: client}),
			Addr:   loopback,
		},
	} {
		subject.Stall, subject.NoCloseWrite = stall, true
		t.Run(name, func(t *testing.T) { transporttest.Run(t, subject) })
	}
}

func listen(t *testing.T, c *websocket.Config, addr string) transport.Listener {
	t.Helper()
	l, err := websocket.New(c).Listen(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func accept(t *testing.T, l transport.Listener) transport.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := l.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return conn
}

// dialCoder connects with the library alone.
func dialCoder(t *testing.T, url string) *coder.Conn {
	t.Helper()
	ws, _, err := coder.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.CloseNow() })
	return ws
}

// TestMessages reads messages that are cut in other ways than this package does: fragments, empty ones, one beyond every buffer.
func TestMessages(t *testing.T) {
	t.Parallel()
	l := listen(t, nil, "127.0.0.1:0")
	ws := dialCoder(t, "ws://"+l.Addr().String())
	conn := accept(t, l)
	done := make(chan error, 1)
	go func() {
		done <- func() error {
			w, err := ws.Writer(t.Context(), coder.MessageBinary)
			if err != nil {
				return err
			}
			for _, part := range []string{"one ", "message ", "in fragments, "} {
				if _, err := io.WriteString(w, part); err != nil {
					return err
				}
			}
			if err := w.Close(); err != nil {
				return err
			}
			for _, message := range []string{"", "then ", strings.Repeat("x", 1<<20)} {
				if err := ws.Write(t.Context(), coder.MessageBinary, []byte(message)); err != nil {
					return err
				}
			}
			return ws.Close(coder.StatusNormalClosure, "")
		}()
	}()
	got, err := io.ReadAll(conn)
	if want := "one message in fragments, then " + strings.Repeat("x", 1<<20); err != nil || string(got) != want {
		t.Errorf("%d bytes and %v, want %d", len(got), err, len(want))
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestSentMessages holds that messages are small enough for readers with the default limit of the library.
func TestSentMessages(t *testing.T) {
	t.Parallel()
	l := listen(t, nil, "127.0.0.1:0")
	ws := dialCoder(t, "ws://"+l.Addr().String())
	conn := accept(t, l)
	go func() {
		_, _ = conn.Write(make([]byte, 200_000))
		_ = conn.Close()
	}()
	total := 0
	for {
		kind, p, err := ws.Read(t.Context())
		if coder.CloseStatus(err) == coder.StatusNormalClosure {
			break
		}
		if err != nil || kind != coder.MessageBinary {
			t.Fatalf("%v message after %d bytes: %v", kind, total, err)
		}
		total += len(p)
	}
	if total != 200_000 {
		t.Errorf("%d bytes, want 200000", total)
	}
}

// TestText refuses a text message by the close code for it.
func TestText(t *testing.T) {
	t.Parallel()
	l := listen(t, nil, "127.0.0.1:0")
	ws := dialCoder(t, "ws://"+l.Addr().String())
	conn := accept(t, l)
	if err := ws.Write(t.Context(), coder.MessageText, []byte("text")); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 9)); err == nil || !strings.Contains(err.Error(), "text message") {
		t.Errorf("Read = %v, want an error about the text message", err)
	}
	if _, _, err := ws.Read(t.Context()); coder.CloseStatus(err) != coder.StatusUnsupportedData {
		t.Errorf("the client gets %v, want the code for unsupported data", err)
	}
}

// TestCut returns io.ErrUnexpectedEOF if the connection ends without a close frame.
func TestCut(t *testing.T) {
	t.Parallel()
	l := listen(t, nil, "127.0.0.1:0")
	ws := dialCoder(t, "ws://"+l.Addr().String())
	conn := accept(t, l)
	_ = ws.CloseNow()
	if _, err := conn.Read(make([]byte, 9)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Read = %v, want io.ErrUnexpectedEOF", err)
	}
}

// TestRefused has requests that are no WebSockets for this listener.
func TestRefused(t *testing.T) {
	t.Parallel()
	l := listen(t, &websocket.Config{Origins: []string{"app.example"}}, "127.0.0.1:0/in")
	url := "http://" + l.Addr().String()
	upgrade := map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg=="}
	for name, row := range map[string]struct {
		url    string
		origin string
		fields map[string]string
		want   int
	}{
		"plain GET":      {url, "", nil, http.StatusUpgradeRequired},
		"other path":     {strings.TrimSuffix(url, "/in"), "", upgrade, http.StatusNotFound},
		"another origin": {url, "https://evil.example", upgrade, http.StatusForbidden},
		"listed origin":  {url, "https://app.example", upgrade, http.StatusSwitchingProtocols},
		"no origin":      {url, "", upgrade, http.StatusSwitchingProtocols},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, row.url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		for field, value := range row.fields {
			req.Header.Set(field, value)
		}
		if row.origin != "" {
			req.Header.Set("Origin", row.origin)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_ = resp.Body.Close()
		if resp.StatusCode != row.want {
			t.Errorf("%s: status %d, want %d", name, resp.StatusCode, row.want)
		}
	}
}

// TestEviction has more silent clients than handshakes may be in progress: the oldest is closed, and another client is served.
func TestEviction(t *testing.T) {
	t.Parallel()
	l := listen(t, &websocket.Config{MaxHandshakes: 2}, "127.0.0.1:0")
	oldest, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer oldest.Close()
	stall(t, l.Addr().String())
	stall(t, l.Addr().String())
	_ = oldest.SetReadDeadline(time.Now().Add(patience))
	if _, err := oldest.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the oldest silent client gets %v, want the end", err)
	}
	conn, err := websocket.New(nil).Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

// TestHandler accepts WebSockets of a server that serves other paths too.
func TestHandler(t *testing.T) {
	t.Parallel()
	l := websocket.New(nil).Handler()
	mux := http.NewServeMux()
	mux.Handle("/ferry", l)
	mux.HandleFunc("/hello", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	s := httptest.NewServer(mux)
	defer s.Close()
	client, err := websocket.New(nil).Dial(t.Context(), s.Listener.Addr().String()+"/ferry")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = client.Write([]byte("over a mux"))
		_ = client.Close()
	}()
	if got, err := io.ReadAll(accept(t, l)); string(got) != "over a mux" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if conn, err := websocket.New(nil).Dial(t.Context(), s.Listener.Addr().String()+"/ferry"); err == nil {
		_ = conn.Close()
		t.Error("Dial to a closed handler: no error")
	}
}

// TestDialContextEnds holds that the context of Dial bounds Dial only.
func TestDialContextEnds(t *testing.T) {
	t.Parallel()
	l := listen(t, nil, "127.0.0.1:0")
	ctx, cancel := context.WithCancel(t.Context())
	client, err := websocket.New(nil).Dial(ctx, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	cancel()
	conn := accept(t, l)
	if _, err := client.Write([]byte("still")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "still" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestUntrustedServer(t *testing.T) {
	t.Parallel()
	server, _ := identity(t)
	_, stranger := identity(t)
	l, err := websocket.NewTLS(&websocket.Config{ServerTLS: server}).Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := websocket.NewTLS(&websocket.Config{ClientTLS: stranger}).Dial(t.Context(), l.Addr().String())
	var unverified *tls.CertificateVerificationError
	if err == nil {
		_ = conn.Close()
	}
	if !errors.As(err, &unverified) {
		t.Errorf("Dial = %v, want a CertificateVerificationError", err)
	}
	if _, err := websocket.NewTLS(nil).Listen(t.Context(), "127.0.0.1:0"); err == nil {
		t.Error("wss listens without a certificate")
	}
}

// TestSecured has the certificate of the server, and none for ws.
func TestSecured(t *testing.T) {
	t.Parallel()
	server, trusting := identity(t)
	l, err := websocket.NewTLS(&websocket.Config{ServerTLS: server}).Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := websocket.NewTLS(&websocket.Config{ClientTLS: trusting}).Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	accepted := accept(t, l)
	if s, ok := client.(transport.Secured); !ok || len(s.ConnectionState().PeerCertificates) == 0 {
		t.Error("the client's end has no certificate of the server")
	}
	if _, ok := accepted.(transport.Secured); !ok {
		t.Error("the server's end has no TLS state")
	}
	plain := listen(t, nil, "127.0.0.1:0")
	conn, err := websocket.New(nil).Dial(t.Context(), plain.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, end := range []transport.Conn{conn, accept(t, plain)} {
		if _, ok := end.(transport.Secured); ok {
			t.Error("an end of ws says that it has TLS")
		}
	}
}

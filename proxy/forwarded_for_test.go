package proxy

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/limit"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// forwardedFor starts a server that notes the X-Forwarded-For of each request.
func forwardedFor(t *testing.T) (addr string, seen func() []string) {
	var mu sync.Mutex
	var all []string
	addr = serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, r.URL.Path+" "+strings.Join(r.Header.Values("X-Forwarded-For"), "+"))
	})
	return addr, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), all...)
	}
}

// resetBehind has write send a request and resets the connection, while the loop of p stands still.
func resetBehind(t *testing.T, p *Proxy, c net.Conn, write func()) {
	t.Helper()
	p.group.Each(func(*loop.Loop) {
		write()
		tcp, ok := c.(*net.TCPConn)
		if !ok {
			tcp = c.(*tls.Conn).NetConn().(*net.TCPConn)
		}
		_ = tcp.SetLinger(0)
		_ = tcp.Close()
	})
}

// TestForwardedForOfResetConnections: a client resets its connection right behind its request, which names an address of its own choice. No server
// may get that address, and the access log has the real one.
func TestForwardedForOfResetConnections(t *testing.T) {
	t.Parallel()
	const rounds, invented = 30, "10.9.8.7"
	f := newTLSFiles(t)
	server, seen := forwardedFor(t)
	logFile := filepath.Join(t.TempDir(), "access.log")
	cfg := &Config{
		Loops: 1,
		Listeners: []Listener{
			{Name: "cleartext", Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "web"},
			{Name: "tls", Address: "127.0.0.1:0", Protocol: HTTP1, TLS: &f.server, Cluster: "web"},
			{Name: "http2", Address: "127.0.0.1:0", Protocol: HTTP2, Cluster: "web"},
		},
		Clusters:  []upstream.Config{cluster1("web", server)},
		AccessLog: traffic.LogConfig{File: logFile},
	}
	for i := range cfg.Listeners {
		cfg.Listeners[i].HTTP1.ForwardedFor, cfg.Listeners[i].HTTP2.ForwardedFor = true, true
	}
	p := run(t, cfg)
	dial := func(i int) net.Conn {
		c, err := net.Dial("tcp", at(p, i))
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		return c
	}
	for range 4 { // connections to the server that requests can use at once
		if got, err := get(http.DefaultClient, "http://"+at(p, 0)+"/warm"); err != nil {
			t.Fatal(got, err)
		}
	}
	head := "POST /reset HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: " + invented + "\r\nContent-Length: 2\r\n\r\nhi"
	for range rounds {
		c := dial(0)
		resetBehind(t, p, c, func() { _, _ = io.WriteString(c, head) })
		secure := tls.Client(dial(1), f.client(t, "a.example", nil))
		if err := secure.Handshake(); err != nil {
			t.Fatal(err)
		}
		resetBehind(t, p, secure, func() { _, _ = io.WriteString(secure, head) })
		frames := dialFrames(t, at(p, 2))
		resetBehind(t, p, frames.conn, func() {
			frames.head(1, true, ":method", "GET", ":scheme", "http", ":authority", "a", ":path", "/reset", "x-forwarded-for", invented)
		})
	}
	p.group.Each(func(*loop.Loop) {})
	for _, line := range seen() {
		if strings.Contains(line, invented) {
			t.Fatalf("the server got the address that the client invented: %s", line)
		}
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(logFile)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), `"client":""`) {
			t.Fatalf("the access log has a request without its client: %s", text)
		}
		if strings.Count(string(text), "/warm") == 4 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the access log has not all requests: %s", text)
		}
	}
}

// TestForwardedForWithoutAnAddress: a client at a Unix domain socket has no address. With forwarded_for, its own X-Forwarded-For is removed; that of
// a trusted proxy stays.
func TestForwardedForWithoutAnAddress(t *testing.T) {
	t.Parallel()
	for _, trusted := range []bool{false, true} {
		server, seen := forwardedFor(t)
		path := filepath.Join(t.TempDir(), "s")
		cfg := &Config{
			Listeners: []Listener{{Address: "unix:" + path, Protocol: HTTP, Cluster: "web"}},
			Clusters:  []upstream.Config{cluster1("web", server), cluster1("modern", server)},
		}
		cfg.Clusters[1].Protocol = upstream.HTTP2
		cfg.Listeners[0].HTTP1.ForwardedFor, cfg.Listeners[0].HTTP1.TrustForwarded = true, trusted
		cfg.Listeners = append(cfg.Listeners, cfg.Listeners[0])
		cfg.Listeners[1].Address, cfg.Listeners[1].Cluster = "unix:"+path+"2", "modern"
		start(t, cfg)
		for _, path := range []string{path, path + "2"} {
			c, err := net.Dial("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			_, _ = io.WriteString(c, "GET /one HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 10.9.8.7\r\n\r\n")
			if r, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || r.StatusCode != 200 {
				t.Fatal(r, err)
			}
			local, err := net.Dial("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			frames := newFrames(t, local)
			frames.head(1, true, ":method", "GET", ":scheme", "http", ":authority", "a", ":path", "/two", "x-forwarded-for", "10.9.8.7")
			if status, err := frames.status(1); err != nil || status != "200" {
				t.Fatal(status, err)
			}
		}
		want := "/one , /two , /one , /two "
		if trusted {
			want = "/one 10.9.8.7, /two 10.9.8.7, /one 10.9.8.7, /two 10.9.8.7"
		}
		if got := strings.Join(seen(), ", "); got != want {
			t.Errorf("trusted %v: the server got %q, want %q", trusted, got, want)
		}
	}
}

// TestRateOfResetConnections: requests of connections that their client resets count for the client's address like all others.
func TestRateOfResetConnections(t *testing.T) {
	t.Parallel()
	server, seen := forwardedFor(t)
	p := run(t, &Config{
		Loops:     1,
		Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP, Cluster: "web", Limits: limit.Config{RequestsPerSecond: 0.001, Burst: 5}}},
		Clusters:  []upstream.Config{cluster1("web", server)},
	})
	for range 10 {
		_, _ = get(http.DefaultClient, "http://"+at(p, 0)+"/") // the last five get 429, which is an error
	}
	for range 20 {
		c, err := net.Dial("tcp", at(p, 0))
		if err != nil {
			t.Fatal(err)
		}
		resetBehind(t, p, c, func() { _, _ = io.WriteString(c, "GET /reset HTTP/1.1\r\nHost: a\r\n\r\n") })
	}
	p.group.Each(func(*loop.Loop) {})
	refused := p.Snapshot().Traffic.Listeners[0].Refused[traffic.ClientRateLimited]
	if n := len(seen()); n != 5 || refused < 6 {
		t.Errorf("%d requests passed and %d were refused, want 5, and most of the 25 others refused", n, refused)
	}
}

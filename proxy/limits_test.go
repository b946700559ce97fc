package proxy

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/ferry/proxy/limit"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// TestRequestRate: requests above the listener's rate get 429 with Retry-After, or Bolt's status for an overload. The limit is
// for each client, and it survives a reload that does not change it.
func TestRequestRate(t *testing.T) {
	t.Parallel()
	server, boltServer := web(t, "a", 0), echo(t)
	cfg := func(burst int) *Config {
		limits := limit.Config{RequestsPerSecond: 0.001, Burst: burst, Key: "header:X-Client"}
		return &Config{
			Loops: 2,
			Listeners: []Listener{
				{Name: "http", Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "web", Limits: limits},
				{Name: "rpc", Address: "127.0.0.1:0", Protocol: Bolt, Cluster: "echo", Limits: limits},
				{Name: "http2", Address: "127.0.0.1:0", Protocol: HTTP2, Cluster: "web", Limits: limits},
			},
			Clusters: []upstream.Config{cluster1("web", server), cluster1("echo", boltServer)},
		}
	}
	p := start(t, cfg(2))
	h2 := &http.Client{Transport: &http.Transport{Protocols: new(http.Protocols)}}
	h2.Transport.(*http.Transport).Protocols.SetUnencryptedHTTP2(true)
	defer h2.CloseIdleConnections()
	listener, do := 0, http.DefaultClient.Do
	request := func(client string) *http.Response {
		t.Helper()
		r, _ := http.NewRequest("GET", "http://"+at(p, listener), http.NoBody)
		r.Header.Set("X-Client", client)
		resp, err := do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return resp
	}
	want := func(client string, statuses ...int) {
		t.Helper()
		for i, status := range statuses {
			resp := request(client)
			if resp.StatusCode != status {
				t.Fatalf("client %s, request %d: status %d, want %d", client, i, resp.StatusCode, status)
			}
			after := resp.Header.Get("Retry-After")
			if s, _ := strconv.Atoi(after); status == 429 && (s < 900 || s > 1000) || status != 429 && after != "" {
				t.Errorf("client %s, request %d: Retry-After %q", client, i, after)
			}
		}
	}
	want("a", 200, 200, 429, 429)
	want("b", 200, 200, 429)
	if err := p.Reload(cfg(2)); err != nil {
		t.Fatal(err)
	}
	want("a", 429)
	if err := p.Reload(cfg(3)); err != nil {
		t.Fatal(err)
	}
	want("a", 200, 200, 200, 429)

	listener, do = 2, h2.Do
	want("a", 200, 200, 200, 429)
	want("b", 200, 200, 200, 429)

	for i := range 4 {
		if err := call(at(p, 1)); (err == nil) != (i < 3) {
			t.Errorf("Bolt request %d: %v", i, err)
		}
	}
	for _, l := range p.Snapshot().Traffic.Listeners {
		if want := map[string]uint64{"http": 5, "rpc": 1, "http2": 2}[l.Name]; l.Refused[traffic.ClientRateLimited] != want {
			t.Errorf("%s: %d requests refused, want %d", l.Name, l.Refused[traffic.ClientRateLimited], want)
		}
	}
}

// TestRouteRate: a route whose rule stays keeps its rate limit at a reload, and another limit begins full.
func TestRouteRate(t *testing.T) {
	t.Parallel()
	server := web(t, "a", 0)
	cfg := func(burst int) *Config {
		rule := route.Rule{Cluster: "web", RateLimit: &route.RateLimit{RequestsPerSecond: 0.001, Burst: burst}}
		return &Config{
			Loops:     2,
			Listeners: []Listener{{Name: "http", Address: "127.0.0.1:0", Protocol: HTTP1, Routes: []route.Rule{rule}}},
			Clusters:  []upstream.Config{cluster1("web", server)},
		}
	}
	p := start(t, cfg(1))
	for i, row := range []struct {
		burst   int // of the configuration that is applied before
		limited bool
	}{{0, false}, {1, true}, {2, false}, {2, false}, {2, true}} {
		if row.burst > 0 {
			if err := p.Reload(cfg(row.burst)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := get(http.DefaultClient, "http://"+at(p, 0)); (err != nil) != row.limited {
			t.Errorf("request %d: %v, want it limited: %v", i, err, row.limited)
		}
	}
}

// TestMaxDuration: a request that takes longer than max_duration gets 504, 408 while its body is missing, or a reset once its
// response has begun.
func TestMaxDuration(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/silent", func(http.ResponseWriter, *http.Request) { <-stop })
	mux.HandleFunc("/begins", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "begun")
		w.(http.Flusher).Flush()
		<-stop
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(stop) }) // before Close, which waits for the handlers
	p := start(t, &Config{
		Listeners: []Listener{{
			Name: "http", Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "web", Limits: limit.Config{MaxDuration: 100 * time.Millisecond},
		}},
		Clusters: []upstream.Config{cluster1("web", strings.TrimPrefix(server.URL, "http://"))},
	})
	for _, row := range []struct{ name, request, want string }{
		{"silent server", "GET /silent HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "HTTP/1.1 504 "},
		{"slow body", "POST /silent HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\na", "HTTP/1.1 408 "},
		{"slow head", "GET /silent HTTP/1.1\r\nHost: a\r\n", "HTTP/1.1 408 "},
		{"response begun", "GET /begins HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 200 "},
	} {
		c, err := net.Dial("tcp", at(p, 0))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(proxytest.Patience))
		_, _ = io.WriteString(c, row.request)
		got, err := io.ReadAll(c)
		if !strings.HasPrefix(string(got), row.want) || strings.HasPrefix(row.want, "HTTP/1.1 200") != (err != nil) {
			t.Errorf("%s: %q, %v, want %s", row.name, got, err, row.want)
		}
	}
	if n := p.Snapshot().Traffic.Listeners[0].Refused[traffic.TooLong]; n != 4 {
		t.Errorf("%d requests are counted, want 4", n)
	}
}

// TestConnectionLimits: a listener's limits of connections come from its configuration, change with it, and each listener has
// its own.
func TestConnectionLimits(t *testing.T) {
	t.Parallel()
	server := web(t, "a", 0)
	cfg := func(l limit.Config) *Config {
		return &Config{
			Loops: 2, MaxConnections: 100, Clusters: []upstream.Config{cluster1("web", server)},
			Listeners: []Listener{
				{Name: "limited", Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "web", Limits: l},
				{Name: "other", Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "web"},
			},
		}
	}
	p := start(t, cfg(limit.Config{ConnectionsPerAddress: 2}))
	held := func(listener int, want bool) {
		t.Helper()
		c, err := net.Dial("tcp", at(p, listener))
		if err == nil {
			t.Cleanup(func() { c.Close() })
			_ = c.SetDeadline(time.Now().Add(proxytest.Patience))
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
			_, err = c.Read(make([]byte, 1))
		}
		if (err == nil) != want {
			t.Fatalf("listener %d: served is %v, want %v: %v", listener, err == nil, want, err)
		}
	}
	held(0, true)
	held(0, true)
	held(0, false)
	held(1, true)
	if err := p.Reload(cfg(limit.Config{Connections: 3})); err != nil {
		t.Fatal(err)
	}
	held(0, true)
	held(0, false)
	held(1, true)
	for _, l := range p.Snapshot().Traffic.Listeners {
		want := map[string][2]uint64{"limited": {1, 1}}[l.Name]
		if got := [2]uint64{l.RefusedConnections[traffic.AddressLimit], l.RefusedConnections[traffic.ConnectionLimit]}; got != want {
			t.Errorf("%s: refused %v, want %v", l.Name, got, want)
		}
	}
}

// unreadConn is a connection of a client that never reads.
type unreadConn struct {
	net.Conn
	closed chan struct{}
}

func (c *unreadConn) Read([]byte) (int, error) {
	<-c.closed
	return 0, net.ErrClosed
}

// TestHandshakeLimit: clients that stop within their handshake use up the listener's handshakes. Further connections are closed
// and counted, until they are gone.
func TestHandshakeLimit(t *testing.T) {
	t.Parallel()
	f := newTLSFiles(t)
	p := start(t, &Config{
		Listeners: []Listener{{
			Address: "127.0.0.1:0", Protocol: HTTP1, TLS: &f.server, Cluster: "web", Limits: limit.Config{Handshakes: 2},
		}},
		Clusters: []upstream.Config{cluster1("web", web(t, "a", 0))},
	})
	closed := make(chan struct{})
	for range 2 {
		c, err := net.Dial("tcp", at(p, 0))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		go func() {
			_ = tls.Client(&unreadConn{c, closed}, f.client(t, "a.example", nil)).Handshake()
			c.Close()
		}()
	}
	served := func() bool {
		c, err := tls.DialWithDialer(&net.Dialer{Timeout: proxytest.Patience}, "tcp", at(p, 0), f.client(t, "a.example", nil))
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	}
	proxytest.Eventually(t, "a connection without a handshake", func() bool { return !served() })
	proxytest.Eventually(t, "a count of it", func() bool { return handshakes(p, 0)[traffic.HandshakeOverload] > 0 })
	close(closed)
	proxytest.Eventually(t, "a handshake", served)
}

// TestReloadMaxConnections: a client that waits for room is served when a reload makes some.
func TestReloadMaxConnections(t *testing.T) {
	t.Parallel()
	server := web(t, "a", 0)
	cfg := func(n int) *Config {
		return &Config{
			Loops: 2, MaxConnections: n, Clusters: []upstream.Config{cluster1("web", server)},
			Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "web", Limits: limit.Config{ConnectionsPerAddress: -1}}},
		}
	}
	p := start(t, cfg(4))
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", at(p, 0))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		return c
	}
	served := func(c net.Conn, within time.Duration) bool {
		_ = c.SetReadDeadline(time.Now().Add(within))
		_, err := c.Read(make([]byte, 1))
		return err == nil
	}
	for range 4 {
		if !served(dial(), proxytest.Patience) {
			t.Fatal("a client below the limit is not served")
		}
	}
	waits := dial()
	if served(waits, 50*time.Millisecond) {
		t.Error("a client above the limit is served")
	}
	if err := p.Reload(cfg(6)); err != nil {
		t.Fatal(err)
	}
	if !served(waits, proxytest.Patience) {
		t.Error("the client is not served after the limit was raised")
	}
	if err := p.Reload(cfg(2)); err != nil {
		t.Fatal(err)
	}
	if served(dial(), 50*time.Millisecond) {
		t.Error("a client is served although the limit is below the open connections")
	}
	for late := time.Now().Add(proxytest.Patience); p.Snapshot().Overload.MaxConnections != 2; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("the overload manager does not have the new limit")
		}
	}
}
